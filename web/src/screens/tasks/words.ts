/** A value as it is written in a query: in quotes where it has to be. */
export function written(value: string): string {
  return /^[^\s"\\,-][^\s"\\,]*$/.test(value) ? value : `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
