// Parts of the page that are loaded when they are first needed, from a server that may be away just then, or of another
// version by now.

const SHORTEST_MS = 500;
const LONGEST_MS = 5_000;
const AGAIN_MS = 15_000;
const RELOADED = "dibs-reloaded";

/** Loads a part: `lazy(patiently(() => import("./Palette")))`. If that fails, the page begins anew as soon as the
 * server answers, if the part is still wanted then: a browser does not ask twice for a part that it did not get. */
export function patiently<T>(load: () => Promise<T>, isWanted = () => true): () => Promise<T> {
  return () =>
    load().catch(async (error: unknown) => {
      await untilItAnswers();
      if (!isWanted() || !mayReload()) throw error;
      window.location.reload();
      return new Promise<never>(() => undefined);
    });
}

async function untilItAnswers(): Promise<void> {
  for (let wait = SHORTEST_MS; ; wait = Math.min(wait * 2, LONGEST_MS)) {
    try {
      await fetch("/healthz", { cache: "no-store" });
      return;
    } catch {
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}

/** Not again and again: a part that is not there after the page began anew will not be there the next time. */
function mayReload(): boolean {
  try {
    const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
    sessionStorage.setItem(RELOADED, String(Date.now()));
    return Date.now() - last > AGAIN_MS;
  } catch {
    return false;
  }
}
