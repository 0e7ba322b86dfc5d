// The one way to the server: its public API, with the types of docs/openapi.json.
//
// A field with a default may be missing in an answer where the types say null: compare with `== null`, never `=== null`.
import createClient, { type Middleware } from "openapi-fetch";
import { parseExact, stringifyExact } from "./exact";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];

/** What the server refused, in its words; `status` 0: it was not reached. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | null;

  constructor(status: number, code: string, message: string, field: string | null = null) {
    super(message);
    this.name = "Refused";
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

export const LOST = "The server does not answer.";

/** Called with every answer's status; 0: there was none. */
type Witness = (status: number) => void;
const witnesses = new Set<Witness>();

export function onAnswer(witness: Witness): () => void {
  witnesses.add(witness);
  return () => witnesses.delete(witness);
}

function tell(status: number): void {
  for (const witness of witnesses) witness(status);
}

/** `fetch`, but whoever wants to know learns whether the server is there. */
export async function reach(request: Request | string, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(request, init);
    tell(response.status);
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    tell(0);
    throw new Refused(0, "unreachable", LOST);
  }
}

const exact: Middleware = {
  async onResponse({ response }) {
    if (!(response.headers.get("content-type") ?? "").includes("json")) return undefined;
    const text = await response.text();
    const headers = new Headers(response.headers);
    // openapi-fetch parses by itself where there is no length.
    headers.set("content-length", String(text.length || 1));
    const read = new Response(text, { status: response.status, statusText: response.statusText, headers });
    read.json = async () => parseExact(text);
    return read;
  },
};

export const api = createClient<paths>({
  baseUrl: "",
  fetch: reach,
  bodySerializer: (body) => ((body as unknown) instanceof Blob ? (body as unknown as Blob) : stringifyExact(body)),
  querySerializer: { array: { style: "form", explode: true } },
});
api.use(exact);

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** What was answered; throws `Refused`. `await call(api.POST("/v1/pauses", { body: { type } }))` */
export async function call<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await asked;
  if (response.ok) return data as T;
  throw refusal(response.status, error);
}

export function refusal(status: number, error: unknown): Refused {
  const problem = (typeof error === "object" && error !== null ? error : {}) as Partial<Problem>;
  return new Refused(
    status,
    problem.code ?? "unexpected",
    problem.detail ?? problem.title ?? `The server answered ${status}.`,
    problem.field ?? null,
  );
}
