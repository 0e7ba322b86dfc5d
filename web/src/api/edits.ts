// Two people, one setting: it is read with its version (ETag), and a change names the version it was made for.
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call, Refused } from "./client";

/** A setting as it was seen, and its version. */
export type Seen<T> = { value: T; version: string | null };
export type Look<T> = () => Promise<Seen<T>>;

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** What was answered, with its version. */
export async function seen<T>(asked: Promise<Answer<T>>): Promise<Seen<T>> {
  const answer = await asked;
  return { value: await call(Promise.resolve(answer)), version: answer.response.headers.get("etag") };
}

/** A setting to be edited, as it is when the editor opens: live news do not change it under anybody's fingers. */
export function useSeen<T>(key: readonly string[], look: Look<T>): UseQueryResult<Seen<T>, Refused> {
  return useQuery<Seen<T>, Refused>({
    // No path, so nothing that is live asks for it anew.
    queryKey: ["seen", ...key],
    queryFn: look,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnReconnect: false,
  });
}

/** The headers of a change: only if it is still what was seen; of something new: only if there is none. */
export function onlyIf(version: string | null): { header: { "If-Match"?: string; "If-None-Match"?: string } } {
  return { header: version === null ? { "If-None-Match": "*" } : { "If-Match": version } };
}

export type Editing<T> = {
  /** What somebody else made of it since: a change was refused for that. The next one replaces it. */
  theirs: T | null;
  /** Send a change, made for the version that was seen. */
  send: <O>(change: (version: string | null) => Promise<O>) => Promise<O>;
  /** Theirs was taken: there is no conflict any more. */
  taken: () => void;
};

/** Changes a setting that somebody else may change at the same time; `known` null: it is new. */
export function useEditing<T>(known: Seen<T> | null, look: Look<T>): Editing<T> {
  const [version, setVersion] = useState(known?.version ?? null);
  const [theirs, setTheirs] = useState<T | null>(null);
  return {
    theirs,
    taken: () => setTheirs(null),
    send: async (change) => {
      try {
        return await change(version);
      } catch (error) {
        if (known !== null && error instanceof Refused && error.status === 412) {
          const now = await look();
          setVersion(now.version);
          setTheirs(now.value);
        }
        throw error;
      }
    },
  };
}
