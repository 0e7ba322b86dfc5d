const KEPT = "dibs-submit";

/** What was being written survives a reload, in this tab. */
export function kept(): string {
  try {
    return sessionStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

/** The text that Submit begins with the next time. */
export function keep(text: string): void {
  try {
    if (text.length < 500_000) sessionStorage.setItem(KEPT, text);
  } catch {
    // Then it does not.
  }
}
