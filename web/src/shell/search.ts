// What stands behind the ? of the address: plain texts, so that filters can be read and shared.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

export type Search = { [name: string]: string | undefined };

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  // Filters are read by people: `type:code` need not be `type%3Acode`.
  return (
    text &&
    `?${text.replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3E", ">").replaceAll("%3C", "<")}`
  );
}

/** One parameter of the address, and how to change it ("" takes it away): `const [view, setView] = useParam("view", "graph")`. */
export function useParam(name: string, usual = ""): [string, (value: string) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const set = useCallback(
    (value: string) => {
      void navigate({
        to: ".",
        replace: true,
        search: ((before: Search) => ({ ...before, [name]: value === usual ? undefined : value })) as never,
      });
    },
    [navigate, name, usual],
  );
  return [search[name] ?? usual, set];
}
