/** Why a text is no JSON object; undefined if it is one. */
export function templateError(text: string): string | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null && !Array.isArray(found)
      ? undefined
      : "This must be an object: { … }";
  } catch (error) {
    return error instanceof Error ? `This is not JSON: ${error.message}` : "This is not JSON.";
  }
}
