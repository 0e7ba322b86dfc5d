// Coming in and leaving. The token itself is in a cookie that no script can read.
import { reach, refusal } from "../api/client";

/** Where to go after the login: a path of this page, never another site's. */
export function homeward(next: string | undefined): string {
  const here = "https://this.invalid";
  try {
    // As the browser reads it: tabs, backslashes and two slashes lead elsewhere, and that shows.
    const url = new URL(next ?? "/", here);
    const path = url.pathname + url.search + url.hash;
    return url.origin === here && next?.startsWith("/") && url.pathname !== "/login" ? path : "/";
  } catch {
    return "/";
  }
}

export async function logIn(body: { token: string } | { once: string }): Promise<void> {
  const response = await reach("/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw refusal(response.status, await response.json().catch(() => null));
}

export async function logOut(): Promise<void> {
  await reach("/logout", { method: "POST" });
  window.location.assign("/login");
}
