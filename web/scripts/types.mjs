// Writes src/api/schema.d.ts and src/api/roles.ts from docs/openapi.json; with --check it only says whether they are stale.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../../docs/openapi.json", import.meta.url);
const document = JSON.parse(readFileSync(source, "utf8"));

async function types() {
  const ast = await openapiTS(document, { alphabetize: true });
  return `// Generated from docs/openapi.json by \`npm run types\`; not edited by hand.\n${astToString(ast)}`;
}

/** Who may ask for what: the roles that each operation names. */
function roles() {
  const lines = [];
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const named = operation["x-roles"];
      if (named)
        lines.push(`  ${JSON.stringify(`${method.toUpperCase()} ${path}`)}: ${JSON.stringify([...named].sort())},`);
    }
  }
  lines.sort();
  return [
    "// Generated from docs/openapi.json by `npm run types`; not edited by hand.",
    "export const ROLES = {",
    ...lines,
    "} as const;",
    "",
  ].join("\n");
}

const wanted = { "../src/api/schema.d.ts": await types(), "../src/api/roles.ts": roles() };
const stale = [];
for (const [path, text] of Object.entries(wanted)) {
  const file = new URL(path, import.meta.url);
  let found = "";
  try {
    found = readFileSync(file, "utf8");
  } catch {}
  if (found === text) continue;
  if (process.argv.includes("--check")) stale.push(path.replace("../", "web/"));
  else writeFileSync(file, text);
}
if (stale.length) {
  console.error(
    `${stale.join(" and ")} are not what docs/openapi.json says: run \`npm run types\` in web/ and commit them.`,
  );
  process.exit(1);
}
