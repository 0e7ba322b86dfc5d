// One hook per resource. The key of a query is its path and parameters; what is live asks anew by path.
import {
  keepPreviousData,
  type QueryClient,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import type { FetchResponse, MaybeOptionalInit } from "openapi-fetch";
import type { PathsWithMethod } from "openapi-typescript-helpers";
import { stream } from "../live/stream";
import { toast } from "../ui/Toasts";
import { api, call, type Refused, type Schemas } from "./client";
import { ROLES } from "./roles";
import type { paths } from "./schema";

type Gettable = PathsWithMethod<paths, "get">;
type Init<P extends Gettable> = MaybeOptionalInit<paths[P], "get">;
type Reply<P extends Gettable> = NonNullable<
  FetchResponse<paths[P]["get" & keyof paths[P]] & {}, Init<P>, `${string}/${string}`>["data"]
>;

type Options = {
  /** Not asked for while false. */
  enabled?: boolean;
  /** Ask again after so many milliseconds, whatever happens, unless live updates are paused. */
  every?: number;
  /** How long an answer is good, in milliseconds. */
  fresh?: number;
  /** Keep showing the previous answer while another one is fetched (pages, filters). */
  keep?: boolean;
};

const followStream = (changed: () => void) => stream.follow(changed);
const isStreamPaused = () => stream.current === "paused";

/** What `GET path` answers: `useGet("/v1/tasks/{task_id}", { params: { path: { task_id } } })`. */
export function useGet<P extends Gettable>(
  path: P,
  init?: Init<P>,
  options: Options = {},
): UseQueryResult<Reply<P>, Refused> {
  // Known to each of them: a clock that was set before goes on otherwise, and asks once more.
  const isPaused = useSyncExternalStore(followStream, isStreamPaused);
  return useQuery<Reply<P>, Refused>({
    queryKey: keyOf(path, init),
    queryFn: ({ signal }) => get(path, init, signal),
    enabled: options.enabled ?? true,
    refetchInterval: isPaused ? false : (options.every ?? false),
    ...(options.fresh === undefined ? {} : { staleTime: options.fresh }),
    ...(options.keep ? { placeholderData: keepPreviousData } : {}),
  });
}

/** The same without a hook, for what is asked once. */
export function get<P extends Gettable>(path: P, init?: Init<P>, signal?: AbortSignal): Promise<Reply<P>> {
  const asked = api.GET as unknown as (
    path: P,
    init: unknown,
  ) => Promise<{ data?: Reply<P>; error?: unknown; response: Response }>;
  return call(asked(path, { ...(init as object), signal }));
}

export function keyOf(path: Gettable, init?: unknown): readonly unknown[] {
  return [path, (init as { params?: unknown } | undefined)?.params ?? null];
}

/** Ask anew for everything below these paths: `refresh(client, "/v1/tasks", "/v1/stats")`. */
export function refresh(client: QueryClient, ...roots: string[]): Promise<void> {
  return client.invalidateQueries({
    predicate: ({ queryKey: [path] }) => typeof path === "string" && roots.some((root) => path.startsWith(root)),
  });
}

type Acting<I, O> = {
  /** What to say when it is done; nothing if it shows anyway. */
  done?: string | ((output: O, input: I) => string);
  /** How to take it back: offered beside what `done` says. */
  undo?: (output: O, input: I) => Promise<unknown>;
  /** Below which paths something changed; all, unless told. */
  changes?: string[];
  onDone?: (output: O, input: I) => void;
  /** Refusals are shown by the caller (in a form): no toast. */
  quiet?: boolean;
};

/** Something the user does: `const pause = useAct((type: string) => call(api.POST(…)), { done: "Paused." })`, then
 * `pause.mutate(type)`; `pause.isPending` while it runs. Refusals are said in the server's words. */
export function useAct<I = void, O = unknown>(run: (input: I) => Promise<O>, acting: Acting<I, O> = {}) {
  const client = useQueryClient();
  const again = () => refresh(client, ...(acting.changes ?? ["/v1"]));
  return useMutation<O, Refused, I>({
    mutationFn: run,
    onSuccess: (output, input) => {
      const said = typeof acting.done === "function" ? acting.done(output, input) : acting.done;
      const undo = acting.undo;
      if (said) {
        toast({
          text: said,
          ...(undo
            ? {
                undo: async () => {
                  await undo(output, input);
                  await again();
                },
              }
            : {}),
        });
      }
      acting.onDone?.(output, input);
      void again();
    },
    onError: (error) => {
      if (!acting.quiet) toast({ text: error.message, bad: true });
      void again();
    },
  });
}

// Who is looking

export type Role = Schemas["Role"];
export type Operation = keyof typeof ROLES;

export const useAbout = () => useGet("/v1/about", undefined, { fresh: 60_000 });

/** Whether the caller may: by what it does (`useMay("POST /v1/pauses")`), or as who (`useMay("orchestrator")`: that role
 * or admin). What it may not is not shown; the server refuses it anyway. */
export function useMay(what: Operation | Role): boolean {
  const role = useAbout().data?.role;
  if (role === undefined) return false;
  if (what in ROLES) return (ROLES[what as Operation] as readonly string[]).includes(role);
  return role === "admin" || role === what;
}

// What there is

export const useStats = () => useGet("/v1/stats");
export const useInbox = (limit = 100) => useGet("/v1/questions", { params: { query: { limit } } });
export const useAgents = () => useGet("/v1/agents");
export const useOverview = () => useGet("/v1/overview", undefined, { every: 15_000 });
export const useLanes = (minutes?: number) =>
  useGet("/v1/lanes", minutes === undefined ? undefined : { params: { query: { minutes } } });
export const useGates = () => useGet("/v1/gates");
export const useBudgets = () => useGet("/v1/budgets");
export const useBreakers = () => useGet("/v1/breakers");
export const useLocks = () => useGet("/v1/locks");
export const useSlots = () => useGet("/v1/slots");
export const useRates = () => useGet("/v1/rates");
export const useSchedules = () => useGet("/v1/schedules");
export const useTriggers = () => useGet("/v1/triggers");
export const useHooks = () => useGet("/v1/hooks");
export const useDeliveries = (name: string) => useGet("/v1/hooks/{name}/deliveries", { params: { path: { name } } });
export const useTokens = (ended = false) => useGet("/v1/tokens", { params: { query: { ended } } });
export const useEscalations = () => useGet("/v1/escalations");

type Query<P extends Gettable> = paths[P] extends { get: { parameters: { query?: infer Q } } } ? NonNullable<Q> : never;

export const useTasks = (query: Query<"/v1/tasks">, options?: Options) =>
  useGet("/v1/tasks", { params: { query } }, { keep: true, ...options });
export const useMetrics = (query: Query<"/v1/metrics">) => useGet("/v1/metrics", { params: { query } }, { keep: true });
export const useDeadLetters = (query: Query<"/v1/dead-letters"> = {}) =>
  useGet("/v1/dead-letters", { params: { query } }, { keep: true });
export const useAudit = (query: Query<"/v1/audit"> = {}) => useGet("/v1/audit", { params: { query } }, { keep: true });

// One task

const of = (task_id: string) => ({ params: { path: { task_id } } });
export const useTask = (id: string) => useGet("/v1/tasks/{task_id}", of(id));
export const useWhy = (id: string) => useGet("/v1/tasks/{task_id}/why", of(id));
export const useHistory = (id: string) => useGet("/v1/tasks/{task_id}/history", of(id));
export const useJournal = (id: string) => useGet("/v1/tasks/{task_id}/journal", of(id));
export const useQuestions = (id: string) => useGet("/v1/tasks/{task_id}/questions", of(id));
export const useJudges = (id: string) => useGet("/v1/tasks/{task_id}/judges", of(id));
export const useArtifacts = (id: string) =>
  useGet("/v1/tasks/{target}/artifacts", { params: { path: { target: id } } });
export const useDag = (id: string) => useGet("/v1/dags/{dag_id}", { params: { path: { dag_id: id } } });
