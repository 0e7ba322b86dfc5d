/** A component on a page of its own, for tests: drawn, typed into, pressed. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach } from "vitest";
import { TooltipProvider } from "../ui";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let root: Root | null = null;

afterEach(() => act(async () => root?.unmount()));

/** Draw it alone. */
export async function draw(what: ReactNode): Promise<void> {
  document.body.replaceChildren();
  const drawn = createRoot(document.body.appendChild(document.createElement("main")));
  root = drawn;
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  await act(async () =>
    drawn.render(
      <QueryClientProvider client={client}>
        <TooltipProvider>{what}</TooltipProvider>
      </QueryClientProvider>,
    ),
  );
}

/** Whatever is under way comes to its end, and is drawn. */
export const settle = () => act(() => new Promise<void>((done) => setTimeout(done, 0)));

/** Everything of a role, by its name if one is given. */
export function all(role: string, name?: string): HTMLElement[] {
  const implied = { button: ",button", checkbox: ',input[type="checkbox"]', columnheader: ",th", row: ",tbody tr" };
  const those = document.querySelectorAll<HTMLElement>(
    `[role="${role}"]${implied[role as keyof typeof implied] ?? ""}`,
  );
  return [...those].filter((each) => name === undefined || nameOf(each) === name);
}

/** The only one. */
export function one(role: string, name?: string): HTMLElement {
  const [found, ...more] = all(role, name);
  if (found === undefined || more.length > 0) throw new Error(`${more.length + (found ? 1 : 0)} of ${role} ${name}`);
  return found;
}

function nameOf(element: HTMLElement): string {
  const label = (element as HTMLInputElement).labels?.[0];
  return (element.getAttribute("aria-label") ?? label?.textContent ?? element.textContent ?? "").trim();
}

export const press = (element: HTMLElement) => act(async () => element.click());

/** Type into a field, letter by letter, where its caret is. */
export async function type(field: HTMLInputElement, text: string): Promise<void> {
  const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set;
  for (const letter of text) {
    const at = field.selectionStart ?? field.value.length;
    const typed = field.value.slice(0, at) + letter + field.value.slice(field.selectionEnd ?? at);
    await act(async () => {
      // As the browser does it, behind React's back.
      value?.call(field, typed);
      field.setSelectionRange(at + 1, at + 1);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
}

export const key = (element: HTMLElement, name: string) =>
  act(async () => element.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true })));
