/** The decision log as a Markdown file: one line for each decision, other people's words read as nothing but words. */

import type { Decision } from "./decisions";

const SIGNS = /[\\`*_[\]<>#|]/g;
const BREAKS = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;

/** Text on one line in which no sign means anything to Markdown. */
export function plain(text: string | null | undefined): string {
  return (text ?? "").replace(BREAKS, " ").replace(SIGNS, "\\$&").trim();
}

/** The file: a heading and a table, newest decision first. */
export function report(decisions: readonly Decision[], at: Date): string {
  const head = [
    `# Dead letters, decided (as of ${at.toISOString().slice(0, 16).replace("T", " ")} UTC)`,
    "",
    "| when (UTC) | who | decision | task | type | to | note |",
    "|---|---|---|---|---|---|---|",
  ];
  const rows = decisions.map((each) =>
    [
      each.at.slice(0, 19).replace("T", " "),
      plain(each.by),
      plain(each.resolution),
      plain(each.taskId),
      plain(each.type),
      plain(each.to),
      plain(each.note),
    ].join(" | "),
  );
  return `${[...head, ...rows.map((row) => `| ${row} |`)].join("\n")}\n`;
}
