// Generated from docs/openapi.json by `npm run types`; not edited by hand.
export interface paths {
    "/v1/about": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The server, and who you are to it. */
        get: operations["about_about"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every agent that is remembered: what it offers, how it stands, what it holds. */
        get: operations["agents_agents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agents/{agent}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Say who an agent is; its first claim does it otherwise. */
        put: operations["register_agent_agents"];
        post?: never;
        /** Say that an agent is gone. It comes back with its next claim. */
        delete: operations["unregister_agent_agents"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agents/{agent}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give an agent nothing new; it keeps what it holds. */
        post: operations["drain_agent_agents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The bytes of an artifact: its digest, `task:ID:artifact:NAME`, or `artifact:NAME` with a `dag`. */
        get: operations["open_artifact_artifacts"];
        put?: never;
        /** Keep the bytes of the body, to which no task refers yet. */
        post: operations["keep_bytes_artifacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/artifacts/place": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where artifacts are kept, if somebody said so; an error if nothing can be written and read there. */
        get: operations["look_at_artifacts_artifacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/artifacts/sweep": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delete bytes that no task refers to any more, or ever did. */
        post: operations["sweep_artifacts_artifacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The entries of the project in their order: the first after a number, or the last ones. */
        get: operations["audit_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Drop the oldest entries but the last `keep`, with an entry that says so; how many. */
        post: operations["prune_audit_audit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/verdict": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the whole audit and say what is wrong with it; only for admins of the project `default`. */
        get: operations["verify_audit_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/breakers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The circuit breakers: what holds for every type (`*`), then each type that was set or has failed. */
        get: operations["breakers_breakers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/breakers/{type}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The circuit breaker of a type, with the version (ETag) that a change of it may name. */
        get: operations["get_breaker_breakers"];
        /** Switch the circuit breaker of a type on or off, and set how it works. */
        put: operations["set_breaker_breakers"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/breakers/{type}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Close the circuit breaker of a type by hand, and forget the failures it counted. */
        post: operations["close_breaker_breakers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/breakers/{type}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Open the circuit breaker of a type by hand. */
        post: operations["open_breaker_breakers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/breakers/{type}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget all that the circuit breaker of a type remembers, and what was set for it. */
        post: operations["reset_breaker_breakers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/budgets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All budgets: what may be used, what is reserved by attempts under way, and what was spent. */
        get: operations["budgets_budgets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/budgets/{scope}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One budget, with the version (ETag) that a change of it may name. */
        get: operations["get_budget_budgets"];
        /** Let no more than `limit` of a unit be used within a scope. */
        put: operations["set_budget_budgets"];
        post?: never;
        /** Limit this no longer; the budget as it was. */
        delete: operations["remove_budget_budgets"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/budgets/{scope}/raise": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add to the limit of a budget, and let in who fits now. */
        post: operations["raise_budget_budgets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/claims": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take up to `limit` ready tasks, best first; wait up to `wait` (at most 60 s) while there are none. */
        post: operations["claim_claims"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/costs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was spent on each day (UTC), by `type`, `agent`, `model` or `dag`. */
        get: operations["costs_costs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Dags without their tasks, the newest first, a page at a time; `text` is in the title. */
        get: operations["dags_dags"];
        put?: never;
        /** Add a graph of tasks: all tasks and edges in one commit, or none. */
        post: operations["add_dag_dags"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dags/{dag_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The dag with its tasks, edges, roots, leaves and critical path; also a standalone task's own. */
        get: operations["get_dag_dags"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dags/{dag_id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every claim that ended of each task of a dag, in the order in which the tasks were added. */
        get: operations["dag_attempts_dags"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dags/{target}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The artifacts of all tasks of a dag, in the order in which they were put. */
        get: operations["artifacts_dags"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dags/{target}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel all of a dag that has not ended; the ids that this ended. */
        post: operations["cancel_dags"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dags/{target}/wait": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The dag once it has ended; after `timeout` (at most 60 s) without it. Ask again to wait longer. */
        get: operations["wait_dags"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Dead letters in groups of one type and one kind of failure, the largest group first. */
        get: operations["dead_letters_dead-letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/{task_id}/review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Decide about a dead letter: `retried`, `dropped`, `escalated` or `kept`. */
        post: operations["review_dead-letters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/ids": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The ids of the dead letters that fit, the newest task first. */
        get: operations["dead_letter_ids_dead-letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Decide alike about many dead letters; the task or a refusal each. */
        post: operations["review_many_dead-letters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/escalations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every ladder there is: those of types, by name, then those of dags. */
        get: operations["escalations_escalations"];
        /** What follows after so many failed attempts of a task of this type or dag. */
        put: operations["set_escalation_escalations"];
        post?: never;
        /** Forget the ladder of a type or dag. */
        delete: operations["clear_escalation_escalations"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/escalations/one": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The ladder that was set for this type or dag. */
        get: operations["get_escalation_escalations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything that happens after the number `after` (or the header Last-Event-ID, which wins; without them from the oldest kept; `now`: from now on), then live: as server-sent events. `type` (`task.*`, `*:out_of_memory`), `task`, `dag` and `agent` choose among them. It ends after `wait`, else never. */
        get: operations["follow_events_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/last": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The sequence number of the newest event; 0 if there is none. */
        get: operations["last_seq_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/page": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Up to `limit` events after the sequence number `after`, without waiting. */
        get: operations["read_events_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/recent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What happened lately, the last first: of these types, about this task or dag. */
        get: operations["recent_events_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/found/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel what a query finds, and what depends on it: up to `limit` (500) tasks, from `cursor` on. */
        post: operations["cancel_found_found"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/found/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How many tasks a query finds: exactly up to 10,000, and as far as the store looks. */
        get: operations["count_found"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/found/priority": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change how urgent is what a query finds: up to `limit` (500) tasks, from `cursor` on. */
        post: operations["set_priority_found_found"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/found/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Retry what a query finds: up to `limit` (500) tasks, from `cursor` on. */
        post: operations["retry_found_found"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/found/suggestions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What may be written next in a query, with the cursor `at` this place: keys, and values seen lately. */
        get: operations["suggest_found"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/found/tags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give what a query finds tags, or take them away: up to `limit` (500) tasks, from `cursor` on. */
        post: operations["tag_found_found"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/gates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What is closed now: pauses, breakers, what rate limits closed, types of which as many run as may. */
        get: operations["gates_gates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Complete a claim and all in its group with the same output, in one commit. */
        post: operations["complete_group_groups"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Fail a claim and all in its group, in one commit. */
        post: operations["fail_group_groups"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give back a claim and all in its group, in one commit. */
        post: operations["release_group_groups"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All hooks, by name, with how it is going; without their secrets. */
        get: operations["hooks_hooks"];
        put?: never;
        /** Tell somebody of events, each at least once, in order. The answer has the secret, once. */
        post: operations["add_hook_hooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One hook; without its secret. */
        get: operations["get_hook_hooks"];
        /** Change where and of what a hook tells; its kind, its secret and how far it is stay. */
        put: operations["set_hook_hooks"];
        post?: never;
        /** Forget a hook; nothing more is sent. */
        delete: operations["remove_hook_hooks"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks/{name}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The last tries to tell this hook, newest first. */
        get: operations["deliveries_hooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send nothing more until it is resumed. */
        post: operations["pause_hook_hooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks/{name}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Deliver everything it wants after a number once more, under the ids that it had. */
        post: operations["replay_hook_hooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go on where it stopped, at once; also a hook that was disabled. */
        post: operations["resume_hook_hooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks/{name}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a new secret, which the answer has once; for `overlap` both are used. */
        post: operations["rotate_hook_hooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a test message sent; its id, which the deliveries will show. */
        post: operations["test_hook_hooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/lanes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What is ready, by lane, since when, and which live agents can do it; with `minutes`, also how it went. */
        get: operations["lanes_lanes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Locks that are held or waited for, and those with slots of their own. */
        get: operations["locks_locks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A code that logs one browser in, at /login?once=CODE: once, within `valid`. */
        post: operations["create_login_logins"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How it has been going, by `type`, `agent`, `model` or `day`. */
        get: operations["metrics_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/news": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A number that changes when anything was committed; with `since`, once it differs or after `timeout`. */
        get: operations["news_news"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/outcomes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End up to 1,000 claims, each in its own way, in one commit; an answer or a refusal each. */
        post: operations["settle_outcomes_outcomes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What waits for a person, what is wrong, and what it costs, in one look. */
        get: operations["overview_overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pauses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Hand out nothing more of a type or lane, to an agent, or at all. */
        post: operations["pause_pauses"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pauses/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End this pause, or open what a rate limit closed; false if there was none. */
        post: operations["resume_pauses"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The open questions and approvals, oldest first. */
        get: operations["inbox_questions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/questions/{question_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The question as it is now. */
        get: operations["get_question_questions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/questions/{question_id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer an open question; its task goes on. */
        post: operations["answer_questions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The types of which only so many tasks are handed out in a time, and how many may be now. */
        get: operations["rates_rates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rates/{type}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The rate of a type, with the version (ETag) that a change of it may name. */
        get: operations["get_rate_rates"];
        /** Hand out so many tasks of a type in a time: `10/min`, `100/hour`, `3/30s`; null: any number. */
        put: operations["set_rate_rates"];
        post?: never;
        /** Hand out any number of tasks of a type again; the rate as it was. */
        delete: operations["remove_rate_rates"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/renewals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Renew many leases in one commit; an answer or a refusal each. */
        post: operations["renew_many_renewals"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The types whose decision reports have fields of their own, by type. */
        get: operations["reports_reports"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reports/{type}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Say in which fields the decision reports of a type (`*`: of every other) must say something. */
        put: operations["set_report_reports"];
        post?: never;
        /** Forget the fields of a type; tasks that were added keep theirs. */
        delete: operations["remove_report_reports"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every schedule, by name, with where it stands. */
        get: operations["schedules_schedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A schedule, with where it stands. */
        get: operations["get_schedule_schedules"];
        /** Make a task or a dag at certain times: cron, every so often, or once. */
        put: operations["add_schedule_schedules"];
        post?: never;
        /** Forget a schedule; what it made stays. */
        delete: operations["remove_schedule_schedules"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{name}/next": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** When it is due next, by the clocks of its time zone. */
        get: operations["next_runs_schedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let it make nothing until it is resumed. */
        post: operations["pause_schedule_schedules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let it go on with the next tick from now. */
        post: operations["resume_schedule_schedules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/slots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The types of which only so many tasks may run at once, and how many do. */
        get: operations["type_slots_slots"];
        /** How many tasks may hold a lock (`name`) at once, or how many of a type may run (null: any number). */
        put: operations["set_slots_slots"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The queue at a glance: counts, lanes, agents. */
        get: operations["stats_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tasks that fit all that is given, newest first, a page at a time; agents see no payloads and outputs. */
        get: operations["find_tasks"];
        put?: never;
        /** Add one task; once this is answered it survives any crash. */
        post: operations["add_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{target}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The artifacts of a task, in the order in which they were put. */
        get: operations["artifacts_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{target}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a task, and what depends on it or was spawned by it; the ids that this ended. */
        post: operations["cancel_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{target}/wait": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The task once it has ended; after `timeout` (at most 60 s) without it. Ask again to wait longer. */
        get: operations["wait_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The task as it is now. */
        get: operations["get_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make bytes that are kept already an artifact of the task that this claim holds. */
        post: operations["refer_to_artifact_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/artifacts/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Keep the bytes of the body as an artifact of the task that this claim holds. */
        put: operations["put_artifact_tasks"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/ask": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask a person, once; the claim ends, and the task is claimed again with the answer. */
        post: operations["ask_under_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/assignee": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Say whom a task is for that nobody holds: an agent, agents of a type, anybody but one (!NAME), or anybody (null). */
        put: operations["reassign_tasks"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Keep `data` for the next attempt of this task; it replaces the last checkpoint. */
        put: operations["checkpoint_tasks"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The work is done. Saying it again is answered the same. */
        post: operations["complete_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The attempt failed; the task's retry policy, the reason and `retry` decide whether it is tried again. */
        post: operations["fail_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every claim of the task that ended, oldest first. */
        get: operations["history_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/journal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The task's journal: steps, spawns, checkpoint, log lines. */
        get: operations["journal_tasks"];
        put?: never;
        /** Write to the task's journal; what is recorded for each entry now. */
        post: operations["record_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/judges": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tasks that judge the work of this one, or did, oldest first. */
        get: operations["judges_of_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a task that has not started wait for others too. */
        post: operations["link_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Append a line to the task's log; the last 1,000 are kept. */
        post: operations["log_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/priority": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Change how urgent a task is: 0 (now) to 100 (whenever). */
        put: operations["set_priority_tasks"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything the task ever asked, approvals included, oldest first; with the answers. */
        get: operations["questions_of_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give the work back unharmed; no attempt is used up. */
        post: operations["release_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/renew": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Extend the lease from now and say how it goes; the answer says whether to stop. */
        post: operations["renew_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a dead-lettered or cancelled task a new life, and with it what was cancelled because of it. */
        post: operations["retry_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/spawn": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add tasks below a running one, once; with `wait` its claim ends until all of them have ended. */
        post: operations["spawn_below_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say that the work has begun, after a claim with `start` false. */
        post: operations["start_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/tags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a task tags, or take them away, wherever it is in its life. */
        post: operations["tag_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task_id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Why the task is where it is, in one sentence, and what would help. */
        get: operations["why_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add up to 10,000 tasks in one commit, all or none; refs may point inside the call. */
        post: operations["add_many_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/look-up": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Up to 1,000 tasks by their ids, as lists show them; null in the place of those that there are not. */
        post: operations["look_up_tasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tokens of the project, oldest first; for admins of the project `default` those of all projects. */
        get: operations["tokens_tokens"];
        put?: never;
        /** Make a token. Its secret is in this answer, and can never be shown again. */
        post: operations["create_token_tokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End a token, by its id or its name: within a second no server takes it any more. */
        delete: operations["revoke_token_tokens"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens/{token}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A new token with the rights of this one, which ends after `grace`. */
        post: operations["rotate_token_tokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every trigger, by name, with where it stands and without secrets. */
        get: operations["triggers_triggers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/triggers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A trigger, with where it stands and without secrets. */
        get: operations["get_trigger_triggers"];
        /** Make a task or a dag when something happens; new secrets are in this answer only. */
        put: operations["add_trigger_triggers"];
        post?: never;
        /** Forget a trigger; what it made stays. */
        delete: operations["remove_trigger_triggers"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/triggers/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let it make nothing until it is resumed; webhooks are refused meanwhile. */
        post: operations["pause_trigger_triggers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/triggers/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let it go on; what happened meanwhile is not made up for. */
        post: operations["resume_trigger_triggers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/triggers/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** What it would make for an event; nothing is made. */
        post: operations["preview_trigger_triggers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/upkeep/advice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the operator should know or do, a sentence each. */
        get: operations["advise_upkeep"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/upkeep/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What is wrong inside the store, a sentence each; nothing should be. */
        get: operations["check_upkeep"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/upkeep/duties": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run the duties that are due; how much each did. */
        post: operations["run_duties_upkeep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/upkeep/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delete everything that retention no longer keeps; how many tasks. */
        post: operations["prune_upkeep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * About
         * @description The server: its `version`, the number of its `api`, its clock (`now`, micros) and what it takes at most.
         *
         *         The caller: its `name` and `role`, the `project` it sees, the `types` it may work on (null: any).
         */
        About: {
            /** @default 1 */
            api: number;
            dibs: string;
            /** @default {} */
            limits: {
                [key: string]: number;
            };
            /** @default  */
            name: string;
            /** @default 0 */
            now: number;
            /** @default default */
            project: string;
            /** @default viewer */
            role: components["schemas"]["Role"];
            /** @default null */
            schema_version: number | null;
            /** @default null */
            types: string[] | null;
        };
        /** AddDagRequest */
        AddDagRequest: {
            budget?: number | null;
            created_by?: string | null;
            escalation?: Record<string, never>[] | null;
            key?: string | null;
            on_failure?: string;
            tasks: components["schemas"]["NewTask"][];
            title: string;
            user?: string | null;
        };
        /** AddHookRequest */
        AddHookRequest: {
            after?: number | null;
            agent?: string | null;
            dag?: string | null;
            events?: string[] | string | null;
            kind?: string;
            name: string;
            source?: string | null;
            task?: string | null;
            url: string;
        };
        /** AddManyRequest */
        AddManyRequest: {
            tasks: components["schemas"]["NewTask"][];
        };
        /** AddRequest */
        AddRequest: {
            after?: string[];
            after_ended?: string[];
            approval?: boolean;
            assignee?: string | null;
            boost?: number;
            coalesce_key?: string | null;
            coalesce_window?: number | string;
            context?: unknown;
            created_by?: string | null;
            dag?: string | null;
            deadline?: number | string | null;
            expects?: unknown;
            fallback_models?: string[];
            key?: string | components["schemas"]["OfContent"] | null;
            locks?: string[];
            max_attempts?: number;
            max_cost?: number | null;
            max_tokens?: number | null;
            max_turns?: number | null;
            models?: string[];
            on_deadline?: string;
            payload?: unknown;
            priority?: number;
            provider?: string | null;
            requires?: string[];
            retry?: string | components["schemas"]["Retry"] | null;
            run_after?: number | string | null;
            tags?: string[];
            timeout?: number | string | null;
            title?: string | null;
            type: string;
            user?: string | null;
        };
        /** AddScheduleRequest */
        AddScheduleRequest: {
            at?: number | string | null;
            cron?: string | null;
            dag?: Record<string, never> | null;
            every?: number | string | null;
            jitter?: number | string;
            max_missed?: number;
            missed?: string;
            overlap?: string;
            paused?: boolean;
            replace?: boolean;
            task?: Record<string, never> | null;
            timezone?: string | null;
        };
        /** AddTriggerRequest */
        AddTriggerRequest: {
            cool_down?: number | string | null;
            cost?: number | null;
            dag?: Record<string, never> | null;
            events?: string | string[];
            failure_rate?: number | null;
            least?: number | null;
            max_depth?: number;
            on: string;
            paths?: string | string[];
            paused?: boolean;
            rate?: string;
            replace?: boolean;
            scheme?: string | null;
            secret?: string | string[] | null;
            task?: Record<string, never> | null;
            type?: string | null;
            where?: Record<string, never> | null;
            window?: number | string | null;
        };
        /**
         * Agent
         * @description Who claims, as last heard of.
         *
         *         `capabilities`, `types` and `models` are what it offered last. `tasks` are those it holds; `utilisation` is how many
         *         they are for each one it may hold (`max_concurrent`) or says it does at once (`concurrency`). `reason` is why it was
         *         unregistered.
         */
        Agent: {
            /** @default [] */
            capabilities: string[];
            /** @default null */
            concurrency: number | null;
            /** @default null */
            heard_at: string | null;
            /** @default null */
            host: string | null;
            id: string;
            /** @default null */
            max_concurrent: number | null;
            /** @default [] */
            models: string[];
            /** @default null */
            pid: number | null;
            /** @default null */
            poll_s: number | null;
            /** @default null */
            reason: string | null;
            /** @default null */
            started_at: string | null;
            /** @default active */
            status: components["schemas"]["AgentStatus"];
            /** @default [] */
            tasks: string[];
            /** @default null */
            type: string | null;
            /** @default null */
            types: string[] | null;
            /** @default null */
            utilisation: number | null;
            /** @default null */
            version: string | null;
        };
        /**
         * AgentStatus
         * @description How an agent stands. `rules.agents` says when it is which.
         * @enum {unknown}
         */
        AgentStatus: "active" | "draining" | "lost" | "offline";
        /** AnswerRequest */
        AnswerRequest: {
            by?: string | null;
            value: unknown;
        };
        /**
         * Artifact
         * @description An artifact of a task. `name` is a label; what finds the bytes is `digest` (`sha256:…`).
         *
         *         Putting another under the same name replaces it. `task_id` is the task it belongs to, `put_at` since when.
         */
        Artifact: {
            digest: string;
            /** @default null */
            media_type: string | null;
            name: string;
            /** @default null */
            put_at: string | null;
            size: number;
            /** @default  */
            task_id: string;
        };
        /**
         * AskedOf
         * @description The question as it is now. `suspended`: the claim has ended, and the task waits for the answer.
         */
        AskedOf: {
            question: components["schemas"]["Question"];
            /** @default false */
            suspended: boolean;
        };
        /** AskUnderRequest */
        AskUnderRequest: {
            assignee?: string | null;
            default?: unknown;
            fence: number;
            name?: string | null;
            question: string;
            schema?: unknown;
            timeout?: number | string | null;
            used?: components["schemas"]["Usage"] | null;
        };
        /**
         * Attempt
         * @description How one claim of a task ended. `number` counts from 1 the claims that used up an attempt; others have 0.
         *
         *         `price` is the version of the prices that its cost was computed with; None: its agent told it, or it is unknown.
         */
        Attempt: {
            agent: string;
            /** @default null */
            cost_usd: number | null;
            /** @default null */
            ended_at: string | null;
            /** @default null */
            error: string | null;
            /** @default null */
            exit_code: number | null;
            fence: number;
            /** @default null */
            fingerprint: string | null;
            /** @default null */
            model: string | null;
            number: number;
            outcome: components["schemas"]["Outcome"];
            /** @default null */
            price: string | null;
            /** @default null */
            reason: string | null;
            /** @default null */
            started_at: string | null;
            /** @default null */
            tokens_in: number | null;
            /** @default null */
            tokens_out: number | null;
            /** @default null */
            turns: number | null;
        };
        /**
         * AuditEntry
         * @description One entry. `by` is who (the name of a token, or whoever used the shell), `act` the verb, `target` what it was
         *         done to, `outcome` `done` or the code of the refusal; `count` how often, of what was folded into one.
         *
         *         `previous` is the SHA-256 of the entry before, as it is kept; `digest` that of this one.
         */
        AuditEntry: {
            /** @default  */
            act: string;
            at: string;
            /** @default null */
            by: string | null;
            /** @default 1 */
            count: number;
            /** @default  */
            digest: string;
            number: number;
            /** @default done */
            outcome: string;
            /** @default  */
            previous: string;
            /** @default default */
            project: string;
            /** @default  */
            target: string;
            /** @default null */
            token_id: string | null;
        };
        /**
         * AuditFault
         * @description Something that is wrong with the audit, beginning with the entry of this number.
         */
        AuditFault: {
            detail: string;
            number: number;
        };
        /**
         * AuditVerdict
         * @description Whether the audit is whole, and what is wrong with it.
         *
         *         `number` and `head` are those of the last entry: whoever notes them elsewhere can prove later that nothing before
         *         was changed. `checked` entries were read; those up to `pruned` were dropped on purpose.
         */
        AuditVerdict: {
            /** @default 0 */
            checked: number;
            /** @default [] */
            faults: components["schemas"]["AuditFault"][];
            /** @default  */
            head: string;
            /** @default 0 */
            number: number;
            /** @default 0 */
            pruned: number;
            sound: boolean;
        };
        /**
         * Blocker
         * @description One thing that keeps a task from running, and what would help.
         */
        Blocker: {
            detail: string;
            /** @default null */
            help: string | null;
            /** @default [] */
            ids: string[];
            kind: string;
            /** @default null */
            until: string | null;
        };
        /**
         * Breaker
         * @description The circuit breaker of a type, as of now, and the settings that hold for it.
         *
         *         `state` is `closed` (work flows), `open` (nothing is handed out until `half_open_due_at`) or `half_open` (one task,
         *         the `probe`, is handed out to see). `failures` counts failed attempts in a row that are not forgotten yet. `own`:
         *         it has settings of its own. The type `*` stands for every type without.
         */
        Breaker: {
            /** @default 300 */
            cooldown_s: number;
            /** @default false */
            enabled: boolean;
            /** @default 5 */
            failure_threshold: number;
            /** @default 0 */
            failures: number;
            /** @default 60 */
            half_open_after_s: number;
            /** @default null */
            half_open_at: string | null;
            /** @default null */
            half_open_due_at: string | null;
            /** @default null */
            last_failure_at: string | null;
            /** @default null */
            opened_at: string | null;
            /** @default false */
            own: boolean;
            /** @default null */
            probe: string | null;
            /** @default null */
            reason: string | null;
            /** @default closed */
            state: string;
            type: string;
        };
        /**
         * Budget
         * @description What may be used of a unit within a scope, and what was: `spent` by attempts that ended, `reserved` by others.
         *
         *         `unpriced` of those that ended did not say what they cost; they count as much as they had reserved. `waiting` tasks
         *         do not fit. What is left may be saved for one that was passed over (`saved_for`). With a `window` (`day`) it begins
         *         anew at `ends_at`, midnight in `timezone`; the rest is of this window.
         */
        Budget: {
            /** @default 0 */
            default_reserve: number;
            /** @default null */
            ends_at: string | null;
            /** @default 0 */
            left: number;
            /** @default 0 */
            limit: number;
            /** @default 0 */
            reserved: number;
            /** @default null */
            saved_for: string | null;
            scope: string;
            /** @default 0 */
            spent: number;
            /** @default null */
            timezone: string | null;
            /** @default usd */
            unit: string;
            /** @default 0 */
            unpriced: number;
            /** @default 0 */
            waiting: number;
            /** @default null */
            window: string | null;
        };
        /** CancelDagRequest */
        CancelDagRequest: {
            reason?: string | null;
        };
        /** CancelFoundRequest */
        CancelFoundRequest: {
            cursor?: string | null;
            limit?: number;
            query: string;
            reason?: string | null;
        };
        /** CancelTaskRequest */
        CancelTaskRequest: {
            reason?: string | null;
        };
        /** CheckpointRequest */
        CheckpointRequest: {
            data: unknown;
            fence: number;
        };
        /**
         * Claim
         * @description The right to work on `task` until `lease_expires_at`, proven by `fence`.
         *
         *         `inputs` holds the outputs of the tasks it depended on, keyed by ref, else id (of several with one ref the first has
         *         it); `children` likewise for what it spawned and waited for. `context` is the task's, with an object of what
         *         each reference in its `refs` means now. `previous_attempts` are the last ten, oldest first. `group` holds the claims
         *         of the tasks with its `coalesce_key` that were taken with it, each to be settled like any other, or all together.
         *         `made`: the work is done, but the command that its output must pass was cut short: complete it with this output.
         */
        Claim: {
            agent: string;
            /** @default {} */
            answers: Record<string, never>;
            /** @default null */
            checkpoint: unknown;
            /** @default {} */
            children: Record<string, never>;
            /** @default null */
            context: unknown;
            fence: number;
            /** @default [] */
            group: components["schemas"]["Claim"][];
            /** @default {} */
            inputs: Record<string, never>;
            /** @default null */
            lease_expires_at: string | null;
            /** @default 60 */
            lease_s: number;
            /** @default {} */
            limits: Record<string, never>;
            /** @default null */
            made: components["schemas"]["Made"] | null;
            /** @default null */
            model: string | null;
            /** @default [] */
            previous_attempts: components["schemas"]["Attempt"][];
            task: components["schemas"]["Task"];
            /** @default null */
            timeout_s: number | null;
        };
        /** ClaimRequest */
        ClaimRequest: {
            agent: string;
            capabilities?: string[];
            claim_id?: string | null;
            lease?: number | string;
            limit?: number;
            models?: string[];
            start?: boolean;
            types?: string[] | null;
            wait?: number | string;
        };
        /**
         * Closure
         * @description One thing that is closed. `gate` names it: `type:code`, `lane:3`, `agent:coder-1`, `everything`, `breaker:code`,
         *         `provider:anthropic`, `limit:code`, `slots:code`, `rate:code`.
         *
         *         `kind` is `pause`, `breaker`, `limit` (a provider, or whoever serves a type, turned somebody away), `slots` (as many
         *         tasks of a type run as may) or `rate` (as many were handed out as may be in a time). `until` None: until somebody
         *         opens it, or (a breaker) until its probe ends, or (slots) until a task does.
         */
        Closure: {
            /** @default null */
            agent: string | null;
            /** @default null */
            by: string | null;
            gate: string;
            /** @default null */
            help: string | null;
            kind: string;
            /** @default null */
            lane: number | null;
            /** @default null */
            provider: string | null;
            /** @default null */
            reason: string | null;
            /** @default null */
            since: string | null;
            /** @default null */
            type: string | null;
            /** @default null */
            until: string | null;
        };
        /** CompleteGroupRequest */
        CompleteGroupRequest: {
            claim: [
                string,
                number
            ][];
            cost?: number | null;
            decision?: unknown;
            model?: string | null;
            output?: unknown;
            tokens_cache_written?: number | null;
            tokens_cached?: number | null;
            tokens_in?: number | null;
            tokens_out?: number | null;
            turns?: number | null;
        };
        /** CompleteRequest */
        CompleteRequest: {
            artifacts?: components["schemas"]["Artifact"][];
            cost?: number | null;
            decision?: unknown;
            fence: number;
            judged?: boolean;
            model?: string | null;
            output?: unknown;
            refusal?: string | null;
            tokens_cache_written?: number | null;
            tokens_cached?: number | null;
            tokens_in?: number | null;
            tokens_out?: number | null;
            turns?: number | null;
        };
        /**
         * Completion
         * @description What may stand in the place of the characters from `start` to `end`.
         */
        Completion: {
            /** @default null */
            about: string | null;
            end: number;
            insert: string;
            start: number;
        };
        /**
         * Count
         * @description How many fit; `more`: at least so many, there was more to look at.
         */
        Count: {
            count: number;
            /** @default false */
            more: boolean;
        };
        /** CreateLoginRequest */
        CreateLoginRequest: {
            lasts?: number | string;
            name?: string;
            role?: string;
            valid?: number | string;
        };
        /** CreateTokenRequest */
        CreateTokenRequest: {
            expires?: number | string | null;
            max_children?: number | null;
            max_cost?: number | null;
            max_depth?: number | null;
            name: string;
            project?: string | null;
            role?: string;
            types?: string[] | null;
        };
        /**
         * Dag
         * @description A dag as dibs knows it at one moment, with its tasks and the edges into them.
         *
         *         `cost_usd` is what its tasks cost; `judging_usd` what it cost to judge them, by tasks that are no part of it.
         *         `escalation` is its own ladder, if it has one.
         */
        Dag: {
            /** @default null */
            cost_usd: number | null;
            /** @default {} */
            counts: {
                [key: string]: number;
            };
            /** @default null */
            created_at: string | null;
            /** @default null */
            created_by: string | null;
            /** @default [] */
            critical_path: string[];
            /** @default [] */
            edges: components["schemas"]["Edge"][];
            /** @default null */
            ended_at: string | null;
            /** @default [] */
            escalation: components["schemas"]["Rung"][];
            id: string;
            /** @default null */
            judging_usd: number | null;
            /** @default null */
            key: string | null;
            /** @default [] */
            leaves: string[];
            /** @default fail_fast */
            on_failure: string;
            /** @default default */
            project: string;
            /** @default [] */
            roots: string[];
            /** @default null */
            started_at: string | null;
            /** @default pending */
            status: components["schemas"]["DagStatus"];
            /** @default [] */
            tasks: components["schemas"]["Task"][];
            /** @default null */
            title: string | null;
            /** @default null */
            user: string | null;
            /** @default false */
            virtual: boolean;
        };
        /**
         * DagPage
         * @description Some dags, without tasks and edges. `cursor` continues (None on the last page).
         */
        DagPage: {
            /** @default null */
            cursor: string | null;
            /** @default [] */
            items: components["schemas"]["Dag"][];
        };
        /**
         * DagStatus
         * @description Where a dag is: derived from its tasks, never set by hand.
         * @enum {unknown}
         */
        DagStatus: "cancelled" | "completed" | "failed" | "pending" | "running";
        /**
         * DeadGroup
         * @description Dead letters of one type that failed alike. `reason` and `error` are those of the newest.
         *
         *         `cost_usd` is the sum of what is known (None: nothing is), `unpriced` how many have no known cost; `unreviewed` how
         *         many nobody has decided about; `task_ids` the newest few, newest first.
         */
        DeadGroup: {
            /** @default null */
            cost_usd: number | null;
            /** @default 0 */
            count: number;
            /** @default null */
            error: string | null;
            fingerprint: string;
            first_at: string;
            last_at: string;
            /** @default 0 */
            poison_pills: number;
            /** @default null */
            reason: string | null;
            /** @default [] */
            task_ids: string[];
            type: string;
            /** @default 0 */
            unpriced: number;
            /** @default 0 */
            unreviewed: number;
        };
        /**
         * Delivery
         * @description One try to tell somebody. Outcomes: `delivered`, `failed` (it is tried again) and `refused` (the receiver does
         *         not want this one; it was given up). `id` is the same for every try of one event; `code` is the status that the
         *         receiver answered.
         */
        Delivery: {
            at: string;
            attempt: number;
            /** @default null */
            code: number | null;
            /** @default null */
            error: string | null;
            id: string;
            outcome: string;
            seq: number;
            /** @default 0 */
            took_s: number;
            type: string;
        };
        /**
         * Edge
         * @description `child` waits for `parent`.
         *
         *         Kinds: `after` (success), `after_ended` (any end), `child` (spawned and waited for; any end).
         */
        Edge: {
            child: string;
            /** @default after */
            kind: string;
            parent: string;
        };
        /**
         * Ended
         * @description One of many ends: `outcome` is `completed`, `failed` or `released`, and the rest are the parameters of
         *         `complete`, `fail` and `release`; those of the others are left out.
         *
         *         `judged`: the commands that the output must pass were run by whoever completes it; `refusal` is what they found
         *         against it, if anything.
         *
         *         What only a worker says: the output had to be `sanitized` before it could be sent; the retry `policy` of its
         *         handler, for a task that has none; that it failed `together` with another of its group, in one attempt at both; that
         *         a task which it releases was `untouched`, so that this is no release that counts; by which version of prices
         *         (`price`) its cost was computed.
         */
        Ended: {
            /** @default [] */
            artifacts: unknown;
            /** @default null */
            cost: number | null;
            /** @default null */
            decision: unknown;
            /** @default 0 */
            delay: number | string;
            /** @default null */
            error: string | null;
            /** @default null */
            exit_code: number | null;
            fence: number;
            /** @default false */
            judged: boolean;
            /** @default null */
            model: string | null;
            outcome: string;
            /** @default null */
            output: unknown;
            /** @default null */
            policy: components["schemas"]["Retry"] | null;
            /** @default null */
            price: string | null;
            /** @default error */
            reason: string;
            /** @default null */
            refusal: string | null;
            /** @default true */
            retry: boolean;
            /** @default null */
            retry_after: number | string | null;
            /** @default false */
            sanitized: boolean;
            task_id: string;
            /** @default false */
            together: boolean;
            /** @default null */
            tokens_cache_written: number | null;
            /** @default null */
            tokens_cached: number | null;
            /** @default null */
            tokens_in: number | null;
            /** @default null */
            tokens_out: number | null;
            /** @default null */
            turns: number | null;
            /** @default false */
            untouched: boolean;
        };
        /**
         * Escalation
         * @description A rung that a task has taken in its present life, when the claim `fence` had failed. `question`: its id.
         */
        Escalation: {
            after: number;
            /** @default null */
            agent: string | null;
            at: string;
            do: string;
            fence: number;
            /** @default null */
            model: string | null;
            /** @default null */
            question: string | null;
            /** @default null */
            to: string | null;
        };
        /**
         * Event
         * @description One thing that happened. `seq` grows by one without gaps; `type` is `task.added`, `dag.failed` and so on.
         *
         *         Events that end an attempt carry `payload`, `output` and `error` in `data`, each replaced by
         *         `{"ref": …}` when it is large.
         */
        Event: {
            /** @default null */
            agent: string | null;
            at: string;
            /** @default null */
            dag_id: string | null;
            /** @default {} */
            data: Record<string, never>;
            /** @default null */
            reason: string | null;
            seq: number;
            /** @default null */
            task_id: string | null;
            type: string;
        };
        /**
         * EventPage
         * @description Some events, the last one first. `before` continues (None: there are no older ones).
         */
        EventPage: {
            /** @default null */
            before: number | null;
            /** @default [] */
            items: components["schemas"]["Event"][];
        };
        /** FailGroupRequest */
        FailGroupRequest: {
            claim: [
                string,
                number
            ][];
            cost?: number | null;
            error: string;
            exit_code?: number | null;
            model?: string | null;
            reason?: string;
            retry?: boolean;
            retry_after?: number | string | null;
            tokens_cache_written?: number | null;
            tokens_cached?: number | null;
            tokens_in?: number | null;
            tokens_out?: number | null;
            turns?: number | null;
        };
        /** FailRequest */
        FailRequest: {
            cost?: number | null;
            error: string;
            exit_code?: number | null;
            fence: number;
            model?: string | null;
            reason?: string;
            retry?: boolean;
            retry_after?: number | string | null;
            tokens_cache_written?: number | null;
            tokens_cached?: number | null;
            tokens_in?: number | null;
            tokens_out?: number | null;
            turns?: number | null;
        };
        /**
         * Handled
         * @description What a verb did to some of the tasks that fit: each was judged by itself.
         *
         *         `done`: the ids of those that it changed; `left`: of those for which there was nothing to do; `refused`: the others.
         *         `cursor` continues with those that were added before them; None: these were all. A stretch may be short, or empty,
         *         and still have one.
         */
        Handled: {
            /** @default null */
            cursor: string | null;
            /** @default [] */
            done: string[];
            /** @default [] */
            left: string[];
            /** @default [] */
            refused: components["schemas"]["Untouched"][];
        };
        /**
         * Hook
         * @description One who is told of events: where, of which, and how far they were told.
         *
         *         Kinds: `cloudevents` (a signed HTTP request with the event), `slack` (a message to a chat) and `email`. Statuses:
         *         `active`, `paused` (by somebody), `failing` (tried again at `next_at`; `error` says why) and `disabled` (nobody
         *         answered for so long that it was given up). Every event up to `seq` that it wants was delivered or, where the
         *         receiver refused it, given up. `secret` is there only when it was made; `old_secret_until`: until when requests are
         *         signed with the secret before it, too.
         */
        Hook: {
            /** @default null */
            agent: string | null;
            /** @default 0 */
            attempts: number;
            created_at: string;
            /** @default null */
            dag: string | null;
            /** @default null */
            disabled_at: string | null;
            /** @default null */
            error: string | null;
            events: string[];
            /** @default null */
            failing_since: string | null;
            id: string;
            kind: string;
            name: string;
            /** @default null */
            next_at: string | null;
            /** @default null */
            old_secret_until: string | null;
            /** @default null */
            secret: string | null;
            /** @default 0 */
            seq: number;
            /** @default null */
            source: string | null;
            /** @default active */
            status: string;
            /** @default null */
            task: string | null;
            url: string;
        };
        /**
         * IssuedToken
         * @description A token that was just made, with its secret: nobody can show that again.
         */
        IssuedToken: {
            /** @default null */
            created_at: string | null;
            /** @default null */
            created_by: string | null;
            /** @default null */
            expires_at: string | null;
            id: string;
            /** @default null */
            last_used_at: string | null;
            /** @default null */
            max_children: number | null;
            /** @default null */
            max_cost: number | null;
            /** @default null */
            max_depth: number | null;
            name: string;
            /** @default default */
            project: string;
            /** @default null */
            revoked_at: string | null;
            role: components["schemas"]["Role"];
            secret: string;
            /** @default null */
            types: string[] | null;
        };
        /**
         * Ladder
         * @description The rungs for the tasks of a type (`*`: of every type without a ladder of its own) or of a dag.
         */
        Ladder: {
            /** @default null */
            dag: string | null;
            /** @default [] */
            rungs: components["schemas"]["Rung"][];
            /** @default null */
            type: string | null;
        };
        /**
         * Lane
         * @description Tasks that every agent treats alike, counted. `agents` are the live ones that can serve it, if that was asked.
         */
        Lane: {
            /** @default null */
            agents: string[] | null;
            /** @default null */
            assignee: string | null;
            /** @default 0.1 */
            boost: number;
            /** @default null */
            held: number | null;
            id: number;
            /** @default [] */
            models: string[];
            /** @default null */
            oldest_ready_at: string | null;
            /** @default null */
            per_minute: (number | null)[] | null;
            /** @default null */
            provider: string | null;
            /** @default 0 */
            ready: number;
            /** @default [] */
            requires: string[];
            /** @default null */
            slots: number | null;
            type: string;
            /** @default null */
            wait_p50_s: number | null;
            /** @default null */
            wait_p95_s: number | null;
        };
        /**
         * Line
         * @description One entry of a task's journal: `kind` is `step`, `spawn`, `checkpoint`, `made` or `log`.
         */
        Line: {
            /** @default  */
            digest: string;
            kind: string;
            /** @default  */
            name: string;
            /** @default null */
            value: unknown;
        };
        /** LinkRequest */
        LinkRequest: {
            after?: string[];
            after_ended?: string[];
        };
        /**
         * Lock
         * @description A named thing that only so many tasks may use at once: who uses it, and how many wait for it.
         *
         *         `reserved_for`: the task that nobody may pass over any more.
         */
        Lock: {
            /** @default [] */
            holders: components["schemas"]["LockHolder"][];
            name: string;
            /** @default null */
            reserved_for: string | null;
            /** @default 1 */
            slots: number;
            /** @default 0 */
            waiting: number;
        };
        /**
         * LockHolder
         * @description Whoever has a slot of a lock.
         */
        LockHolder: {
            /** @default null */
            agent: string | null;
            fence: number;
            /** @default null */
            since: string | null;
            task_id: string;
        };
        /**
         * Login
         * @description A link that was just made: its `code` is good once, until `expires_at`, and kept nowhere.
         */
        Login: {
            code: string;
            expires_at: string;
            name: string;
            role: components["schemas"]["Role"];
        };
        /** LogRequest */
        LogRequest: {
            fence: number;
            line: string;
        };
        /** LookUpRequest */
        LookUpRequest: {
            ids: string[];
        };
        /**
         * Made
         * @description Output and decision of work that is done, the attempt (`fence`, `agent`) that did it, and where: the command that
         *         judges it must run on the same `host`, in the same `folder`.
         */
        Made: {
            agent: string;
            /** @default null */
            decision: unknown;
            /** @default null */
            exit_code: number | null;
            fence: number;
            folder: string;
            host: string;
            /** @default null */
            output: unknown;
            /** @default false */
            sanitized: boolean;
        };
        /**
         * Metrics
         * @description One group, of what is still kept. Times in seconds; None where nothing is known.
         *
         *         `name` is the type, agent or model (None: no model was named), or the day (UTC) as YYYY-MM-DD.
         *         `created` and `cancelled` count tasks; by agent or model nothing is created, and `cancelled` counts the claims
         *         that a cancel ended. `completed`, `failed` (failed, timed out, expired, refused) and `dead_lettered` count claims by
         *         how they ended; a task that is retried by hand may be dead-lettered twice. `error_rate` is failed of both.
         *         `wait_*`: from first ready to the start of the first claim. `run_*`: from start to end, of claims that completed,
         *         failed, timed out or were refused. `held` are held now, and `renewal_delay_s` is how long ago the quietest of their
         *         agents was heard of. `cost_usd` is what is known; `unpriced` claims come on top.
         */
        Metrics: {
            /** @default 0 */
            cancelled: number;
            /** @default 0 */
            completed: number;
            /** @default null */
            cost_usd: number | null;
            /** @default null */
            created: number | null;
            /** @default 0 */
            dead_lettered: number;
            /** @default null */
            error_rate: number | null;
            /** @default 0 */
            failed: number;
            /** @default null */
            held: number | null;
            name: string | null;
            /** @default null */
            renewal_delay_s: number | null;
            /** @default null */
            run_p50_s: number | null;
            /** @default null */
            run_p95_s: number | null;
            /** @default null */
            tokens_in: number | null;
            /** @default null */
            tokens_out: number | null;
            /** @default null */
            turns: number | null;
            /** @default 0 */
            unpriced: number;
            /** @default null */
            wait_p50_s: number | null;
            /** @default null */
            wait_p95_s: number | null;
        };
        /**
         * News
         * @description What a renewal tells the agent: `cancel` means stop now; `slow_down` is seconds to wait before more calls.
         */
        News: {
            /** @default false */
            cancel: boolean;
            /** @default null */
            lease_expires_at: string | null;
            /** @default {} */
            limits: Record<string, never>;
            /** @default null */
            reason: string | null;
            /** @default null */
            slow_down: number | null;
        };
        /** NewTask */
        NewTask: {
            after?: string[];
            after_ended?: string[];
            approval?: boolean;
            assignee?: string | null;
            boost?: number;
            coalesce_key?: string | null;
            coalesce_window?: number | string;
            context?: unknown;
            created_by?: string | null;
            dag?: string | null;
            deadline?: number | string | null;
            expects?: unknown;
            fallback_models?: string[];
            id?: string | null;
            key?: string | components["schemas"]["OfContent"] | null;
            locks?: string[];
            max_attempts?: number;
            max_cost?: number | null;
            max_tokens?: number | null;
            max_turns?: number | null;
            models?: string[];
            on_deadline?: string;
            payload?: unknown;
            priority?: number;
            provider?: string | null;
            ref?: string | null;
            requires?: string[];
            retry?: string | components["schemas"]["Retry"] | null;
            run_after?: number | string | null;
            tags?: string[];
            timeout?: number | string | null;
            title?: string | null;
            type: string;
            user?: string | null;
        };
        /**
         * OfContent
         * @description `{"content": true}`: the key is made of type and payload (`dibs.CONTENT`).
         */
        OfContent: {
            /** @default true */
            content: boolean;
        };
        /** OpenBreakerRequest */
        OpenBreakerRequest: {
            reason?: string | null;
        };
        /**
         * Outcome
         * @description How a claim ended.
         * @enum {unknown}
         */
        Outcome: "cancelled" | "completed" | "expired" | "failed" | "rate_limited" | "rejected" | "released" | "submitted" | "suspended" | "timed_out";
        /**
         * Overview
         * @description The strip: what waits for a person, what is wrong, what it costs.
         *
         *         `questions`: how many are open, of any kind. `dead_letters`: how many nobody has decided about. `stalled`: the ids
         *         of held tasks whose lease is nearly, or already, over, at most 100: their agents have missed a renewal.
         *         `open_breakers`: types whose breaker is open or half-open. `paused`: what is paused. `tasks`: how many are
         *         `ready`, and how many are `held` (at most 1,000 are counted).
         */
        Overview: {
            /** @default 0 */
            agents: number;
            at: string;
            dead_letters: components["schemas"]["Count"];
            /** @default null */
            oldest_ready_at: string | null;
            /** @default [] */
            open_breakers: string[];
            pace?: components["schemas"]["Pace"];
            /** @default [] */
            paused: string[];
            questions: components["schemas"]["Count"];
            /** @default [] */
            stalled: string[];
            /** @default {} */
            tasks: {
                [key: string]: number;
            };
        };
        /**
         * Pace
         * @description Money today (UTC). `spent_usd` is what is known; `unpriced` attempts come on top. `per_hour_usd`: what was spent
         *         in the last hour. The rest is about the budget in USD that is used up first at that pace: its scope, what it has
         *         left of its limit, and in how many seconds nothing is left (None: never at this pace).
         */
        Pace: {
            /** @default null */
            cap_in_s: number | null;
            /** @default null */
            left_usd: number | null;
            /** @default null */
            limit_usd: number | null;
            /** @default null */
            per_hour_usd: number | null;
            /** @default null */
            scope: string | null;
            /** @default null */
            spent_usd: number | null;
            /** @default 0 */
            unpriced: number;
        };
        /**
         * Page
         * @description Some of what was found. `cursor` continues (None on the last page); a page may be short and still have one.
         */
        Page: {
            /** @default null */
            cursor: string | null;
            /** @default [] */
            items: components["schemas"]["Task"][];
        };
        /** PauseRequest */
        PauseRequest: {
            agent?: string | null;
            by?: string | null;
            everything?: boolean;
            lane?: number | null;
            reason?: string | null;
            type?: string | null;
            until?: number | string | null;
        };
        /**
         * Preview
         * @description What a trigger would make for an event: whether it fits, and the template filled in.
         */
        Preview: {
            /** @default null */
            dag: Record<string, never> | null;
            fits: boolean;
            /** @default null */
            task: Record<string, never> | null;
            trigger: string;
        };
        /** PreviewTriggerRequest */
        PreviewTriggerRequest: {
            event: Record<string, never>;
        };
        /**
         * Problem
         * @description The body of every answer that is an error. `detail` is the message: one sentence that says what to do next.
         */
        Problem: {
            code: string;
            detail: string;
            /** @default null */
            error: string | null;
            /** @default null */
            field: string | null;
            /** @default null */
            instance: string | null;
            /** @default null */
            retry_after: number | null;
            status: number;
            title: string;
            type: string;
        };
        /** PruneAuditRequest */
        PruneAuditRequest: {
            keep?: number | null;
        };
        /**
         * Question
         * @description A question as dibs knows it at one moment. While it is open its task is `waiting`.
         *
         *         Kinds: `question` (an agent asked it while it worked), `approval` (whether the task may run at all; the answer is
         *         true or false), `validation` (whether its output is what was asked for; the answer has `approve` and, if it is not,
         *         a `reason`), `escalation` (a rung of its ladder asks how it shall go on) and `decision` (what shall become of a
         *         dead letter: retry, drop, keep, or a note; its task is not waiting, it has ended). Statuses: `open`, `answered`,
         *         `closed` (its task ended, or was decided about, before anybody answered). `schema` says what an answer must look
         *         like; `assignee` whom it is meant for. If nobody answers until `expires_at`, the task goes on with `default`, or
         *         without one ends as a dead letter. `type` and `title` are the task's; `name` tells the questions of one task apart.
         */
        Question: {
            /** @default null */
            answer: unknown;
            /** @default null */
            answered_at: string | null;
            /** @default null */
            answered_by: string | null;
            /** @default null */
            asked_at: string | null;
            /** @default null */
            assignee: string | null;
            /** @default null */
            default: unknown;
            /** @default null */
            expires_at: string | null;
            id: string;
            /** @default question */
            kind: string;
            /** @default null */
            name: string | null;
            /** @default  */
            question: string;
            /** @default null */
            schema: unknown;
            /** @default open */
            status: string;
            task_id: string;
            /** @default null */
            title: string | null;
            /** @default  */
            type: string;
        };
        /** RaiseBudgetRequest */
        RaiseBudgetRequest: {
            amount: number;
            unit?: string;
        };
        /** ReassignRequest */
        ReassignRequest: {
            assignee: string | null;
        };
        /** RecordRequest */
        RecordRequest: {
            entries: components["schemas"]["Line"][];
            fence: number;
        };
        /** ReferToArtifactRequest */
        ReferToArtifactRequest: {
            artifact: components["schemas"]["Artifact"];
            fence: number;
        };
        /**
         * Refusal
         * @description An item of a batch that was refused: `code`, `message` and `field` of its error.
         */
        Refusal: {
            code: string;
            /** @default null */
            field: string | null;
            message: string;
        };
        /** RegisterAgentRequest */
        RegisterAgentRequest: {
            budget?: number | null;
            capabilities?: string[];
            concurrency?: number | null;
            host?: string | null;
            keep?: boolean;
            max_concurrent?: number | null;
            models?: string[];
            pid?: number | null;
            poll?: number | string | null;
            type?: string | null;
            version?: string | null;
        };
        /** ReleaseGroupRequest */
        ReleaseGroupRequest: {
            claim: [
                string,
                number
            ][];
            delay?: number | string;
        };
        /** ReleaseRequest */
        ReleaseRequest: {
            delay?: number | string;
            fence: number;
        };
        /**
         * Renewal
         * @description A lease to extend. `progress`, `note` and `usage` are kept when given.
         */
        Renewal: {
            fence: number;
            /** @default null */
            lease_s: number | null;
            /** @default null */
            note: string | null;
            /** @default null */
            progress: number | null;
            task_id: string;
            /** @default null */
            usage: components["schemas"]["Usage"] | null;
        };
        /** RenewManyRequest */
        RenewManyRequest: {
            renewals: components["schemas"]["Renewal"][];
        };
        /** RenewRequest */
        RenewRequest: {
            cost?: number | null;
            fence: number;
            lease?: number | string | null;
            model?: string | null;
            note?: string | null;
            progress?: number | null;
            tokens_cache_written?: number | null;
            tokens_cached?: number | null;
            tokens_in?: number | null;
            tokens_out?: number | null;
            turns?: number | null;
        };
        /** ReplayHookRequest */
        ReplayHookRequest: {
            after: number;
        };
        /**
         * Report
         * @description In which fields the decision reports of a type (`*`: of every type without its own) must say something.
         */
        Report: {
            fields: string[];
            type: string;
        };
        /**
         * Resolution
         * @description What was decided about a dead letter.
         * @enum {unknown}
         */
        Resolution: "dropped" | "escalated" | "kept" | "retried" | "retried_modified";
        /** ResumeRequest */
        ResumeRequest: {
            agent?: string | null;
            everything?: boolean;
            lane?: number | null;
            limit?: string | null;
            provider?: string | null;
            type?: string | null;
        };
        /**
         * Retry
         * @description When and how long to wait before a failed task is tried again.
         *
         *         `delay` is the first wait in seconds, `cap` the longest. `jitter` is a fraction: 0.5 spreads
         *         a wait of 10 s over 5–15 s. `retry_on` (None: every reason) and `no_retry_on` name failure
         *         reasons; a reason in `no_retry_on` is never retried. Each timed-out attempt multiplies the next
         *         attempt's timeout by `timeout_multiplier`.
         */
        Retry: {
            /** @default 300 */
            cap: number;
            /** @default 10 */
            delay: number;
            /** @default 0.5 */
            jitter: number;
            /** @default 2 */
            multiplier: number;
            /**
             * @default [
             *       "auth_failure",
             *       "budget_exceeded",
             *       "cancelled",
             *       "out_of_memory",
             *       "syntax_error",
             *       "invalid_input",
             *       "poison_pill"
             *     ]
             */
            no_retry_on: string[];
            /** @default null */
            retry_on: string[] | null;
            /** @default exponential */
            strategy: string;
            /** @default 1 */
            timeout_multiplier: number;
        };
        /** RetryFoundRequest */
        RetryFoundRequest: {
            cursor?: string | null;
            delay?: number | string;
            keep_steps?: boolean;
            limit?: number;
            query: string;
        };
        /** RetryRequest */
        RetryRequest: {
            delay?: number | string;
            keep_steps?: boolean;
            payload?: unknown;
        };
        /**
         * Review
         * @description One decision about a task that was a dead letter after the claim `fence`.
         *
         *         `to`: whom it was escalated to; `question`: the id of what they were asked.
         */
        Review: {
            at: string;
            by: string;
            fence: number;
            /** @default null */
            note: string | null;
            /** @default null */
            question: string | null;
            resolution: components["schemas"]["Resolution"];
            /** @default null */
            to: string | null;
        };
        /** ReviewManyRequest */
        ReviewManyRequest: {
            by: string;
            delay?: number | string;
            note?: string | null;
            question?: string | null;
            resolution: string;
            task_ids: string[];
            to?: string | null;
        };
        /** ReviewRequest */
        ReviewRequest: {
            by: string;
            delay?: number | string;
            keep_steps?: boolean;
            note?: string | null;
            payload?: unknown;
            question?: string | null;
            resolution: string;
            to?: string | null;
        };
        /**
         * Role
         * @description What a token allows. No role includes another one: what each may do is named where it is done.
         * @enum {unknown}
         */
        Role: "admin" | "agent" | "orchestrator" | "viewer";
        /** RotateHookRequest */
        RotateHookRequest: {
            overlap?: number | string;
        };
        /** RotateTokenRequest */
        RotateTokenRequest: {
            grace?: number | string;
        };
        /**
         * Run
         * @description A time to come: the tick, and when something is made for it (later by its jitter).
         */
        Run: {
            due_at: string;
            local: string;
            tick: string;
        };
        /**
         * Rung
         * @description What to `do` after so many failed attempts: `notify`, `reassign`, `ask` or `fail_dag`.
         *
         *         `to`: who is told or asked, a person or a role. `agent` or `model`: who gets the task. `question`, `timeout_s` and
         *         `default` are those of what a person is asked.
         */
        Rung: {
            after: number;
            /** @default null */
            agent: string | null;
            /** @default null */
            default: unknown;
            do: string;
            /** @default null */
            model: string | null;
            /** @default null */
            question: string | null;
            /** @default null */
            timeout_s: number | null;
            /** @default null */
            to: string | null;
        };
        /**
         * Schedule
         * @description A task or a dag that is made at certain times. One of `cron`, `every` (seconds) and `at` says when.
         *
         *         A *tick* is an instant at which it is due, without its jitter. `next_at` is the next one, None if none is left.
         */
        Schedule: {
            /** @default null */
            at: string | null;
            created_at: string;
            /** @default null */
            cron: string | null;
            /** @default null */
            dag: Record<string, never> | null;
            /** @default null */
            error: string | null;
            /** @default null */
            every: number | null;
            /** @default [] */
            firing: string[];
            /** @default 0 */
            jitter: number;
            /** @default null */
            last_at: string | null;
            /** @default null */
            last_id: string | null;
            /** @default [] */
            live: string[];
            /** @default 0 */
            made: number;
            /** @default 100 */
            max_missed: number;
            /** @default one */
            missed: string;
            name: string;
            /** @default null */
            next_at: string | null;
            /** @default allow */
            overlap: string;
            /** @default false */
            paused: boolean;
            /** @default 0 */
            skipped: number;
            starts_at: string;
            /** @default null */
            task: Record<string, never> | null;
            /** @default UTC */
            timezone: string;
            /** @default 0 */
            version: number;
        };
        /** SetBreakerRequest */
        SetBreakerRequest: {
            cooldown_s?: number | string | null;
            enabled?: boolean;
            failure_threshold?: number | null;
            half_open_after_s?: number | string | null;
        };
        /** SetBudgetRequest */
        SetBudgetRequest: {
            default_reserve?: number;
            limit: number;
            timezone?: string | null;
            unit?: string;
            window?: string | null;
        };
        /** SetEscalationRequest */
        SetEscalationRequest: {
            dag?: string | null;
            ladder: Record<string, never>[];
            type?: string | null;
        };
        /** SetHookRequest */
        SetHookRequest: {
            agent?: string | null;
            dag?: string | null;
            events?: string[] | string | null;
            source?: string | null;
            task?: string | null;
            url: string;
        };
        /** SetPriorityFoundRequest */
        SetPriorityFoundRequest: {
            cursor?: string | null;
            limit?: number;
            priority: number;
            query: string;
        };
        /** SetPriorityRequest */
        SetPriorityRequest: {
            priority: number;
        };
        /** SetRateRequest */
        SetRateRequest: {
            burst?: number | null;
            rate: string | null;
        };
        /** SetReportRequest */
        SetReportRequest: {
            fields: string[];
        };
        /** SetSlotsRequest */
        SetSlotsRequest: {
            name?: string | null;
            slots?: number | null;
            type?: string | null;
        };
        /**
         * Settled
         * @description The recorded end of a claim: repeating a settlement returns the same one.
         */
        Settled: {
            fence: number;
            outcome: string;
            /** @default null */
            retry_at: string | null;
            status: string;
            task_id: string;
        };
        /** SettleOutcomesRequest */
        SettleOutcomesRequest: {
            outcomes: components["schemas"]["Ended"][];
        };
        /** SpawnBelowRequest */
        SpawnBelowRequest: {
            fence: number;
            name?: string | null;
            tasks: components["schemas"]["NewTask"][];
            used?: components["schemas"]["Usage"] | null;
            wait?: boolean;
        };
        /**
         * Spawned
         * @description The tasks below the one that spawned them. `suspended`: its claim has ended, and it waits for them.
         */
        Spawned: {
            /** @default [] */
            existing: boolean[];
            /** @default false */
            suspended: boolean;
            tasks: components["schemas"]["Task"][];
        };
        /**
         * Spent
         * @description What the attempts of one group that ended in one stretch of time (from `at` on) used: those that told a cost or
         *         tokens, or had a model. `cost_usd` is what is known; `unpriced` attempts come on top. `name`: type, agent, model or
         *         dag; None: no model was named, or the task stands alone.
         */
        Spent: {
            at: string;
            /** @default 0 */
            attempts: number;
            /** @default null */
            cost_usd: number | null;
            /** @default null */
            name: string | null;
            /** @default null */
            tokens_in: number | null;
            /** @default null */
            tokens_out: number | null;
            /** @default 0 */
            unpriced: number;
        };
        /** StartRequest */
        StartRequest: {
            fence: number;
        };
        /**
         * Stats
         * @description The queue at a glance. `by_tier`: what is ready and not parked, by the tier of its effective priority now.
         */
        Stats: {
            /** @default [] */
            agents: components["schemas"]["Agent"][];
            /** @default {} */
            by_status: {
                [key: string]: number;
            };
            /** @default {} */
            by_tier: {
                [key: string]: number;
            };
            /** @default {} */
            by_type: {
                [key: string]: {
                    [key: string]: number;
                };
            };
            /** @default null */
            cost_usd: number | null;
            /** @default [] */
            lanes: components["schemas"]["Lane"][];
            /** @default null */
            next_due_at: string | null;
            /** @default null */
            oldest_ready_at: string | null;
        };
        /**
         * Status
         * @description Where a task is in its life.
         * @enum {unknown}
         */
        Status: "cancelled" | "claimed" | "completed" | "dead_lettered" | "pending" | "ready" | "retrying" | "running" | "scheduled" | "validating" | "waiting";
        /** SweepArtifactsRequest */
        SweepArtifactsRequest: {
            older_than?: number | string | null;
        };
        /**
         * Swept
         * @description What a sweep did: how many blobs it deleted, how many bytes those had, and how many as old as that it kept.
         */
        Swept: {
            /** @default 0 */
            bytes: number;
            /** @default 0 */
            deleted: number;
            /** @default 0 */
            kept: number;
        };
        /** TagFoundRequest */
        TagFoundRequest: {
            add?: string[];
            cursor?: string | null;
            limit?: number;
            query: string;
            remove?: string[];
        };
        /** TagRequest */
        TagRequest: {
            add?: string[];
            remove?: string[];
        };
        /**
         * Taken
         * @description What was claimed, best first. Where that is nothing: for how long to `slow_down`, the `reason`, and in how many
         *         seconds time alone may change that (`due_in`), if that is known.
         */
        Taken: {
            /** @default [] */
            claims: components["schemas"]["Claim"][];
            /** @default null */
            due_in: number | null;
            /** @default null */
            reason: string | null;
            /** @default null */
            slow_down: number | null;
        };
        /**
         * Task
         * @description A task as dibs knows it at one moment. A snapshot: changing it changes nothing in the store.
         */
        Task: {
            /** @default null */
            agent: string | null;
            /** @default false */
            approval: boolean;
            /** @default [] */
            artifacts: components["schemas"]["Artifact"][];
            /** @default null */
            assignee: string | null;
            /** @default 0 */
            attempts: number;
            /** @default [] */
            blocked_by: string[];
            /** @default 0.1 */
            boost: number;
            /** @default null */
            cancel_reason: string | null;
            /** @default null */
            cancelled_at: string | null;
            /** @default null */
            cause: string | null;
            /** @default [] */
            charged_to: string[];
            /** @default null */
            claimed_at: string | null;
            /** @default null */
            coalesce_key: string | null;
            /** @default null */
            completed_at: string | null;
            /** @default null */
            context: unknown;
            /** @default null */
            cost_usd: number | null;
            /** @default 0 */
            crashes: number;
            /** @default null */
            created_at: string | null;
            /** @default null */
            created_by: string | null;
            /** @default  */
            dag_id: string;
            /** @default null */
            dead_lettered_at: string | null;
            /** @default null */
            deadline: string | null;
            /** @default null */
            decision: unknown;
            /** @default [] */
            depends_on: string[];
            /** @default 0 */
            depth: number;
            /** @default null */
            effective_priority: number | null;
            /** @default null */
            error: string | null;
            /** @default [] */
            escalations: components["schemas"]["Escalation"][];
            /** @default null */
            exit_code: number | null;
            /** @default null */
            expects: unknown;
            /** @default [] */
            fallback_models: string[];
            /** @default 0 */
            fence: number;
            /** @default null */
            gathers_until: string | null;
            id: string;
            /** @default null */
            key: string | null;
            /** @default null */
            lease_expires_at: string | null;
            /** @default [] */
            locks: string[];
            /** @default 3 */
            max_attempts: number;
            /** @default null */
            max_cost: number | null;
            /** @default null */
            max_tokens: number | null;
            /** @default null */
            max_turns: number | null;
            /** @default [] */
            models: string[];
            /** @default null */
            note: string | null;
            /** @default keep */
            on_deadline: string;
            /** @default null */
            output: unknown;
            /** @default false */
            output_sanitized: boolean;
            /** @default false */
            overdue: boolean;
            /** @default null */
            parent_id: string | null;
            /** @default null */
            parked_on: string | null;
            /** @default null */
            payload: unknown;
            /** @default false */
            poison_pill: boolean;
            /** @default 50 */
            priority: number;
            /** @default null */
            progress: number | null;
            /** @default default */
            project: string;
            /** @default null */
            provider: string | null;
            /** @default null */
            ready_at: string | null;
            /** @default null */
            reason: string | null;
            /** @default null */
            ref: string | null;
            /** @default 0 */
            releases: number;
            /** @default null */
            renewed_at: string | null;
            /** @default [] */
            requires: string[];
            /** @default null */
            retry: components["schemas"]["Retry"] | null;
            /** @default null */
            retry_at: string | null;
            /** @default [] */
            reviews: components["schemas"]["Review"][];
            /** @default null */
            run_after: string | null;
            /** @default null */
            started_at: string | null;
            /** @default pending */
            status: components["schemas"]["Status"];
            /** @default [] */
            tags: string[];
            /** @default null */
            timeout: number | null;
            /** @default null */
            title: string | null;
            /** @default null */
            tokens_in: number | null;
            /** @default null */
            tokens_out: number | null;
            /** @default null */
            turns: number | null;
            type: string;
            /** @default null */
            updated_at: string | null;
            /** @default null */
            user: string | null;
        };
        /**
         * TaskAttempts
         * @description A task, and every claim of it that ended, oldest first.
         */
        TaskAttempts: {
            /** @default [] */
            attempts: components["schemas"]["Attempt"][];
            task_id: string;
        };
        /**
         * Token
         * @description A token as it is shown. Its secret is kept nowhere.
         *
         *         `types` are those that an agent may claim, and add below a task that it holds; None: any. `max_depth`,
         *         `max_children` and `max_cost` say how far it may add tasks (None: as far as anybody). `last_used_at` is behind by
         *         some minutes.
         */
        Token: {
            /** @default null */
            created_at: string | null;
            /** @default null */
            created_by: string | null;
            /** @default null */
            expires_at: string | null;
            id: string;
            /** @default null */
            last_used_at: string | null;
            /** @default null */
            max_children: number | null;
            /** @default null */
            max_cost: number | null;
            /** @default null */
            max_depth: number | null;
            name: string;
            /** @default default */
            project: string;
            /** @default null */
            revoked_at: string | null;
            role: components["schemas"]["Role"];
            /** @default null */
            types: string[] | null;
        };
        /**
         * Trigger
         * @description A task or a dag that is made when something happens. `on` says what: `webhook`, `event`, `friction` or `files`;
         *         the parts of the others are None or empty.
         */
        Trigger: {
            /** @default 0 */
            after_seq: number;
            /** @default null */
            cool_down: number | null;
            /** @default null */
            cools_until: string | null;
            /** @default null */
            cost: number | null;
            created_at: string;
            /** @default null */
            dag: Record<string, never> | null;
            /** @default 0 */
            dropped: number;
            /** @default null */
            error: string | null;
            /** @default [] */
            events: string[];
            /** @default null */
            failure_rate: number | null;
            /** @default 0 */
            full_at: number;
            /** @default null */
            last_at: string | null;
            /** @default null */
            last_id: string | null;
            /** @default null */
            least: number | null;
            /** @default 0 */
            made: number;
            /** @default 3 */
            max_depth: number;
            name: string;
            on: string;
            /** @default [] */
            paths: string[];
            /** @default false */
            paused: boolean;
            /** @default 60/min */
            rate: string;
            /** @default [] */
            recent: string[];
            /** @default null */
            scheme: string | null;
            /** @default [] */
            secrets: string[];
            /** @default null */
            task: Record<string, never> | null;
            /** @default null */
            type: string | null;
            /** @default 0 */
            version: number;
            /** @default {} */
            where: Record<string, never>;
            /** @default null */
            window: number | null;
        };
        /**
         * TypeRate
         * @description How many tasks of a type are handed out in a time (`amount` in `per_s` seconds, at most `burst` at once), and how
         *         many may be now (`left`); `opens_at`: when the next one may, if none may now.
         */
        TypeRate: {
            amount: number;
            burst: number;
            /** @default 0 */
            left: number;
            /** @default null */
            opens_at: string | null;
            per_s: number;
            type: string;
        };
        /**
         * TypeSlots
         * @description How many tasks of a type may be held at once, and how many are.
         */
        TypeSlots: {
            /** @default 0 */
            held: number;
            slots: number;
            type: string;
        };
        /**
         * Untouched
         * @description A task for which it was refused, and why: `code`, `message` and `field` of the error.
         */
        Untouched: {
            code: string;
            /** @default null */
            field: string | null;
            message: string;
            task_id: string;
        };
        /**
         * Usage
         * @description What an attempt has used so far, in total. None is unknown, which is not zero.
         *
         *         `price` is the version of the prices that the cost was computed with; None: the agent told it.
         */
        Usage: {
            /** @default null */
            cost_usd: number | null;
            /** @default null */
            model: string | null;
            /** @default null */
            price: string | null;
            /** @default null */
            tokens_in: number | null;
            /** @default null */
            tokens_out: number | null;
            /** @default null */
            turns: number | null;
        };
        /**
         * Waited
         * @description The task or dag if it has ended; else only that it has not, yet, and where it is.
         */
        Waited: {
            /** @default null */
            dag: components["schemas"]["Dag"] | null;
            ended: boolean;
            status: string;
            /** @default null */
            task: components["schemas"]["Task"] | null;
        };
        /**
         * Why
         * @description Why a task is where it is: one sentence, and each blocker.
         */
        Why: {
            /** @default [] */
            blockers: components["schemas"]["Blocker"][];
            explanation: string;
            status: string;
            task_id: string;
        };
    };
    responses: {
        /** @description Not a request: not JSON, or not HTTP as it should be. */
        400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No token, or one that is unknown here. */
        401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description This token may not do that. */
        403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is nothing of that name in this project. */
        404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The state of things refuses it: `code` says why. */
        409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description It was changed since you looked (If-Match). */
        412: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is too large. */
        413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Only application/json is read here. */
        415: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A value is wrong: `field` names it. */
        422: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests: wait as long as Retry-After says. */
        429: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The store cannot be reached now: try again. */
        503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    about_about: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server, and who you are to it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["About"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    agents_agents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every agent that is remembered: what it offers, how it stands, what it holds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    register_agent_agents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RegisterAgentRequest"];
            };
        };
        responses: {
            /** @description Say who an agent is; its first claim does it otherwise. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    unregister_agent_agents: {
        parameters: {
            query?: {
                reason?: string;
            };
            header?: never;
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Say that an agent is gone. It comes back with its next claim. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    drain_agent_agents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Give an agent nothing new; it keeps what it holds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    open_artifact_artifacts: {
        parameters: {
            query: {
                dag?: string;
                ref: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bytes of an artifact: its digest, `task:ID:artifact:NAME`, or `artifact:NAME` with a `dag`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    keep_bytes_artifacts: {
        parameters: {
            query: {
                media_type?: string;
                name: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Keep the bytes of the body, to which no task refers yet. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    look_at_artifacts_artifacts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Where artifacts are kept, if somebody said so; an error if nothing can be written and read there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string | null;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    sweep_artifacts_artifacts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SweepArtifactsRequest"];
            };
        };
        responses: {
            /** @description Delete bytes that no task refers to any more, or ever did. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Swept"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    audit_audit: {
        parameters: {
            query?: {
                act?: string;
                after?: number;
                by?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries of the project in their order: the first after a number, or the last ones. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntry"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    prune_audit_audit: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PruneAuditRequest"];
            };
        };
        responses: {
            /** @description Drop the oldest entries but the last `keep`, with an entry that says so; how many. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    verify_audit_audit: {
        parameters: {
            query?: {
                noted?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read the whole audit and say what is wrong with it; only for admins of the project `default`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditVerdict"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    breakers_breakers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The circuit breakers: what holds for every type (`*`), then each type that was set or has failed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Breaker"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_breaker_breakers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The circuit breaker of a type, with the version (ETag) that a change of it may name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Breaker"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    set_breaker_breakers: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SetBreakerRequest"];
            };
        };
        responses: {
            /** @description Switch the circuit breaker of a type on or off, and set how it works. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Breaker"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    close_breaker_breakers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Close the circuit breaker of a type by hand, and forget the failures it counted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Breaker"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    open_breaker_breakers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OpenBreakerRequest"];
            };
        };
        responses: {
            /** @description Open the circuit breaker of a type by hand. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Breaker"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    reset_breaker_breakers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forget all that the circuit breaker of a type remembers, and what was set for it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Breaker"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    budgets_budgets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All budgets: what may be used, what is reserved by attempts under way, and what was spent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_budget_budgets: {
        parameters: {
            query?: {
                unit?: string;
            };
            header?: never;
            path: {
                scope: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One budget, with the version (ETag) that a change of it may name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    set_budget_budgets: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                scope: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetBudgetRequest"];
            };
        };
        responses: {
            /** @description Let no more than `limit` of a unit be used within a scope. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    remove_budget_budgets: {
        parameters: {
            query?: {
                unit?: string;
            };
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                scope: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Limit this no longer; the budget as it was. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    raise_budget_budgets: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                scope: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RaiseBudgetRequest"];
            };
        };
        responses: {
            /** @description Add to the limit of a budget, and let in who fits now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    claim_claims: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaimRequest"];
            };
        };
        responses: {
            /** @description Take up to `limit` ready tasks, best first; wait up to `wait` (at most 60 s) while there are none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Taken"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    costs_costs: {
        parameters: {
            query?: {
                by?: string;
                since?: number | string;
                until?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was spent on each day (UTC), by `type`, `agent`, `model` or `dag`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Spent"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    dags_dags: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                status?: string[];
                text?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Dags without their tasks, the newest first, a page at a time; `text` is in the title. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DagPage"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    add_dag_dags: {
        parameters: {
            query?: never;
            header?: {
                /** @description Sent again with the same key, it is answered as before. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddDagRequest"];
            };
        };
        responses: {
            /** @description Add a graph of tasks: all tasks and edges in one commit, or none. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Dag"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_dag_dags: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                dag_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The dag with its tasks, edges, roots, leaves and critical path; also a standalone task's own. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Dag"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    dag_attempts_dags: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                dag_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every claim that ended of each task of a dag, in the order in which the tasks were added. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskAttempts"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    artifacts_dags: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                target: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The artifacts of all tasks of a dag, in the order in which they were put. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    cancel_dags: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                target: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelDagRequest"];
            };
        };
        responses: {
            /** @description Cancel all of a dag that has not ended; the ids that this ended. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    wait_dags: {
        parameters: {
            query?: {
                timeout?: number | string;
            };
            header?: never;
            path: {
                target: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The dag once it has ended; after `timeout` (at most 60 s) without it. Ask again to wait longer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Waited"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    "dead_letters_dead-letters": {
        parameters: {
            query?: {
                dag?: string;
                fingerprint?: string;
                reviewed?: boolean;
                since?: number | string;
                tag?: string;
                text?: string;
                type?: string;
                until?: number | string;
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Dead letters in groups of one type and one kind of failure, the largest group first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadGroup"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    "review_dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReviewRequest"];
            };
        };
        responses: {
            /** @description Decide about a dead letter: `retried`, `dropped`, `escalated` or `kept`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    "dead_letter_ids_dead-letters": {
        parameters: {
            query?: {
                before?: string;
                dag?: string;
                fingerprint?: string;
                limit?: number;
                reviewed?: boolean;
                since?: number | string;
                tag?: string;
                text?: string;
                type?: string;
                until?: number | string;
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ids of the dead letters that fit, the newest task first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    "review_many_dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReviewManyRequest"];
            };
        };
        responses: {
            /** @description Decide alike about many dead letters; the task or a refusal each. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Task"] | components["schemas"]["Refusal"])[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    escalations_escalations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every ladder there is: those of types, by name, then those of dags. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ladder"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    set_escalation_escalations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetEscalationRequest"];
            };
        };
        responses: {
            /** @description What follows after so many failed attempts of a task of this type or dag. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ladder"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    clear_escalation_escalations: {
        parameters: {
            query?: {
                dag?: string;
                type?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forget the ladder of a type or dag. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_escalation_escalations: {
        parameters: {
            query?: {
                dag?: string;
                type?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ladder that was set for this type or dag. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ladder"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    follow_events_events: {
        parameters: {
            query?: {
                after?: number | string;
                agent?: string;
                dag?: string;
                task?: string;
                type?: string[];
                wait?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Everything that happens after the number `after` (or the header Last-Event-ID, which wins; without them from the oldest kept; `now`: from now on), then live: as server-sent events. `type` (`task.*`, `*:out_of_memory`), `task`, `dag` and `agent` choose among them. It ends after `wait`, else never. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    last_seq_events: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sequence number of the newest event; 0 if there is none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    read_events_events: {
        parameters: {
            query?: {
                after?: number;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Up to `limit` events after the sequence number `after`, without waiting. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    recent_events_events: {
        parameters: {
            query?: {
                before?: number;
                dag?: string;
                limit?: number;
                task?: string;
                types?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What happened lately, the last first: of these types, about this task or dag. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    cancel_found_found: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CancelFoundRequest"];
            };
        };
        responses: {
            /** @description Cancel what a query finds, and what depends on it: up to `limit` (500) tasks, from `cursor` on. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Handled"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    count_found: {
        parameters: {
            query?: {
                query?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many tasks a query finds: exactly up to 10,000, and as far as the store looks. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Count"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    set_priority_found_found: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetPriorityFoundRequest"];
            };
        };
        responses: {
            /** @description Change how urgent is what a query finds: up to `limit` (500) tasks, from `cursor` on. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Handled"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    retry_found_found: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RetryFoundRequest"];
            };
        };
        responses: {
            /** @description Retry what a query finds: up to `limit` (500) tasks, from `cursor` on. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Handled"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    suggest_found: {
        parameters: {
            query?: {
                at?: number;
                query?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What may be written next in a query, with the cursor `at` this place: keys, and values seen lately. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Completion"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    tag_found_found: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TagFoundRequest"];
            };
        };
        responses: {
            /** @description Give what a query finds tags, or take them away: up to `limit` (500) tasks, from `cursor` on. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Handled"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    gates_gates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What is closed now: pauses, breakers, what rate limits closed, types of which as many run as may. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Closure"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    complete_group_groups: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompleteGroupRequest"];
            };
        };
        responses: {
            /** @description Complete a claim and all in its group with the same output, in one commit. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Settled"] | components["schemas"]["Refusal"])[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    fail_group_groups: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FailGroupRequest"];
            };
        };
        responses: {
            /** @description Fail a claim and all in its group, in one commit. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Settled"] | components["schemas"]["Refusal"])[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    release_group_groups: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseGroupRequest"];
            };
        };
        responses: {
            /** @description Give back a claim and all in its group, in one commit. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Settled"] | components["schemas"]["Refusal"])[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    hooks_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All hooks, by name, with how it is going; without their secrets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hook"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    add_hook_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddHookRequest"];
            };
        };
        responses: {
            /** @description Tell somebody of events, each at least once, in order. The answer has the secret, once. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hook"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_hook_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One hook; without its secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hook"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    set_hook_hooks: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetHookRequest"];
            };
        };
        responses: {
            /** @description Change where and of what a hook tells; its kind, its secret and how far it is stay. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hook"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    remove_hook_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forget a hook; nothing more is sent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    deliveries_hooks: {
        parameters: {
            query?: {
                limit?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The last tries to tell this hook, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    pause_hook_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Send nothing more until it is resumed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hook"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    replay_hook_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayHookRequest"];
            };
        };
        responses: {
            /** @description Deliver everything it wants after a number once more, under the ids that it had. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hook"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    resume_hook_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Go on where it stopped, at once; also a hook that was disabled. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hook"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    rotate_hook_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateHookRequest"];
            };
        };
        responses: {
            /** @description Make a new secret, which the answer has once; for `overlap` both are used. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hook"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    test_hook_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Have a test message sent; its id, which the deliveries will show. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    lanes_lanes: {
        parameters: {
            query?: {
                minutes?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What is ready, by lane, since when, and which live agents can do it; with `minutes`, also how it went. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Lane"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    locks_locks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Locks that are held or waited for, and those with slots of their own. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Lock"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    create_login_logins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateLoginRequest"];
            };
        };
        responses: {
            /** @description A code that logs one browser in, at /login?once=CODE: once, within `valid`. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Login"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    metrics_metrics: {
        parameters: {
            query?: {
                by?: string;
                since?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How it has been going, by `type`, `agent`, `model` or `day`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metrics"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    news_news: {
        parameters: {
            query?: {
                since?: number;
                timeout?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A number that changes when anything was committed; with `since`, once it differs or after `timeout`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    settle_outcomes_outcomes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SettleOutcomesRequest"];
            };
        };
        responses: {
            /** @description End up to 1,000 claims, each in its own way, in one commit; an answer or a refusal each. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Settled"] | components["schemas"]["Refusal"])[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    overview_overview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What waits for a person, what is wrong, and what it costs, in one look. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    pause_pauses: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PauseRequest"];
            };
        };
        responses: {
            /** @description Hand out nothing more of a type or lane, to an agent, or at all. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Closure"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    resume_pauses: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResumeRequest"];
            };
        };
        responses: {
            /** @description End this pause, or open what a rate limit closed; false if there was none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": boolean;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    inbox_questions: {
        parameters: {
            query?: {
                assignee?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The open questions and approvals, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_question_questions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                question_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The question as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    answer_questions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                question_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerRequest"];
            };
        };
        responses: {
            /** @description Answer an open question; its task goes on. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    rates_rates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The types of which only so many tasks are handed out in a time, and how many may be now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TypeRate"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_rate_rates: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rate of a type, with the version (ETag) that a change of it may name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TypeRate"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    set_rate_rates: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetRateRequest"];
            };
        };
        responses: {
            /** @description Hand out so many tasks of a type in a time: `10/min`, `100/hour`, `3/30s`; null: any number. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TypeRate"] | null;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    remove_rate_rates: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Hand out any number of tasks of a type again; the rate as it was. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TypeRate"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    renew_many_renewals: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenewManyRequest"];
            };
        };
        responses: {
            /** @description Renew many leases in one commit; an answer or a refusal each. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["News"] | components["schemas"]["Refusal"])[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    reports_reports: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The types whose decision reports have fields of their own, by type. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    set_report_reports: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetReportRequest"];
            };
        };
        responses: {
            /** @description Say in which fields the decision reports of a type (`*`: of every other) must say something. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    remove_report_reports: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forget the fields of a type; tasks that were added keep theirs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    schedules_schedules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every schedule, by name, with where it stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_schedule_schedules: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A schedule, with where it stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    add_schedule_schedules: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AddScheduleRequest"];
            };
        };
        responses: {
            /** @description Make a task or a dag at certain times: cron, every so often, or once. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    remove_schedule_schedules: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forget a schedule; what it made stays. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    next_runs_schedules: {
        parameters: {
            query?: {
                count?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description When it is due next, by the clocks of its time zone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    pause_schedule_schedules: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Let it make nothing until it is resumed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    resume_schedule_schedules: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Let it go on with the next tick from now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    type_slots_slots: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The types of which only so many tasks may run at once, and how many do. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TypeSlots"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    set_slots_slots: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SetSlotsRequest"];
            };
        };
        responses: {
            /** @description How many tasks may hold a lock (`name`) at once, or how many of a type may run (null: any number). */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Lock"] | null) | components["schemas"]["TypeSlots"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    stats_stats: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The queue at a glance: counts, lanes, agents. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    find_tasks: {
        parameters: {
            query?: {
                agent?: string;
                cursor?: string;
                dag?: string;
                limit?: number;
                query?: string;
                status?: string[];
                tag?: string;
                text?: string;
                type?: string;
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Tasks that fit all that is given, newest first, a page at a time; agents see no payloads and outputs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    add_tasks: {
        parameters: {
            query?: never;
            header?: {
                /** @description Sent again with the same key, it is answered as before. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddRequest"];
            };
        };
        responses: {
            /** @description Add one task; once this is answered it survives any crash. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    artifacts_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                target: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The artifacts of a task, in the order in which they were put. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    cancel_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                target: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelTaskRequest"];
            };
        };
        responses: {
            /** @description Cancel a task, and what depends on it or was spawned by it; the ids that this ended. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    wait_tasks: {
        parameters: {
            query?: {
                timeout?: number | string;
            };
            header?: never;
            path: {
                target: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task once it has ended; after `timeout` (at most 60 s) without it. Ask again to wait longer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Waited"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    refer_to_artifact_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReferToArtifactRequest"];
            };
        };
        responses: {
            /** @description Make bytes that are kept already an artifact of the task that this claim holds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    put_artifact_tasks: {
        parameters: {
            query: {
                fence: number;
                media_type?: string;
            };
            header?: never;
            path: {
                name: string;
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Keep the bytes of the body as an artifact of the task that this claim holds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    ask_under_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskUnderRequest"];
            };
        };
        responses: {
            /** @description Ask a person, once; the claim ends, and the task is claimed again with the answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AskedOf"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    reassign_tasks: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReassignRequest"];
            };
        };
        responses: {
            /** @description Say whom a task is for that nobody holds: an agent, agents of a type, anybody but one (!NAME), or anybody (null). */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    checkpoint_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckpointRequest"];
            };
        };
        responses: {
            /** @description Keep `data` for the next attempt of this task; it replaces the last checkpoint. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    complete_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompleteRequest"];
            };
        };
        responses: {
            /** @description The work is done. Saying it again is answered the same. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Settled"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    fail_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FailRequest"];
            };
        };
        responses: {
            /** @description The attempt failed; the task's retry policy, the reason and `retry` decide whether it is tried again. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Settled"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    history_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every claim of the task that ended, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attempt"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    journal_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task's journal: steps, spawns, checkpoint, log lines. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Line"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    record_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecordRequest"];
            };
        };
        responses: {
            /** @description Write to the task's journal; what is recorded for each entry now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Line"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    judges_of_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tasks that judge the work of this one, or did, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    link_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LinkRequest"];
            };
        };
        responses: {
            /** @description Make a task that has not started wait for others too. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    log_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LogRequest"];
            };
        };
        responses: {
            /** @description Append a line to the task's log; the last 1,000 are kept. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    set_priority_tasks: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetPriorityRequest"];
            };
        };
        responses: {
            /** @description Change how urgent a task is: 0 (now) to 100 (whenever). */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    questions_of_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Everything the task ever asked, approvals included, oldest first; with the answers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    release_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseRequest"];
            };
        };
        responses: {
            /** @description Give the work back unharmed; no attempt is used up. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Settled"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    renew_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenewRequest"];
            };
        };
        responses: {
            /** @description Extend the lease from now and say how it goes; the answer says whether to stop. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["News"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    retry_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RetryRequest"];
            };
        };
        responses: {
            /** @description Give a dead-lettered or cancelled task a new life, and with it what was cancelled because of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    spawn_below_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SpawnBelowRequest"];
            };
        };
        responses: {
            /** @description Add tasks below a running one, once; with `wait` its claim ends until all of them have ended. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Spawned"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    start_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartRequest"];
            };
        };
        responses: {
            /** @description Say that the work has begun, after a claim with `start` false. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    tag_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TagRequest"];
            };
        };
        responses: {
            /** @description Give a task tags, or take them away, wherever it is in its life. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    why_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Why the task is where it is, in one sentence, and what would help. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Why"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    add_many_tasks: {
        parameters: {
            query?: never;
            header?: {
                /** @description Sent again with the same key, it is answered as before. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddManyRequest"];
            };
        };
        responses: {
            /** @description Add up to 10,000 tasks in one commit, all or none; refs may point inside the call. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    look_up_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LookUpRequest"];
            };
        };
        responses: {
            /** @description Up to 1,000 tasks by their ids, as lists show them; null in the place of those that there are not. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": (components["schemas"]["Task"] | null)[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    tokens_tokens: {
        parameters: {
            query?: {
                ended?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens of the project, oldest first; for admins of the project `default` those of all projects. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    create_token_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateTokenRequest"];
            };
        };
        responses: {
            /** @description Make a token. Its secret is in this answer, and can never be shown again. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedToken"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    revoke_token_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description End a token, by its id or its name: within a second no server takes it any more. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    rotate_token_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateTokenRequest"];
            };
        };
        responses: {
            /** @description A new token with the rights of this one, which ends after `grace`. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedToken"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    triggers_triggers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every trigger, by name, with where it stands and without secrets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trigger"][];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    get_trigger_triggers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A trigger, with where it stands and without secrets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trigger"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    add_trigger_triggers: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddTriggerRequest"];
            };
        };
        responses: {
            /** @description Make a task or a dag when something happens; new secrets are in this answer only. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trigger"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    remove_trigger_triggers: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version (ETag) that you have seen; if it is another now: 412. */
                "If-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forget a trigger; what it made stays. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trigger"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    pause_trigger_triggers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Let it make nothing until it is resumed; webhooks are refused meanwhile. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trigger"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    resume_trigger_triggers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Let it go on; what happened meanwhile is not made up for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trigger"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    preview_trigger_triggers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewTriggerRequest"];
            };
        };
        responses: {
            /** @description What it would make for an event; nothing is made. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preview"];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    advise_upkeep: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the operator should know or do, a sentence each. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    check_upkeep: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What is wrong inside the store, a sentence each; nothing should be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    run_duties_upkeep: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Run the duties that are due; how much each did. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: number;
                    };
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
    prune_upkeep: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Delete everything that retention no longer keeps; how many tasks. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
            400: components["responses"]["400"];
            401: components["responses"]["401"];
            403: components["responses"]["403"];
            404: components["responses"]["404"];
            409: components["responses"]["409"];
            412: components["responses"]["412"];
            413: components["responses"]["413"];
            415: components["responses"]["415"];
            422: components["responses"]["422"];
            429: components["responses"]["429"];
            503: components["responses"]["503"];
        };
    };
}
