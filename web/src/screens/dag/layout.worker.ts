/** Lays out graphs beside the page, so that it stays smooth meanwhile. Answers each question with its number. */
import { type Arranged, arrange, type ToArrange } from "./layout";

export interface Asked extends ToArrange {
  number: number;
}

export interface Answered {
  number: number;
  arranged: Arranged | null;
}

self.onmessage = ({ data }: MessageEvent<Asked>) => {
  let arranged: Arranged | null = null;
  try {
    arranged = arrange(data);
  } catch {
    // A graph that cannot be laid out is said to be so, not waited for.
  }
  self.postMessage({ number: data.number, arranged } satisfies Answered);
};
