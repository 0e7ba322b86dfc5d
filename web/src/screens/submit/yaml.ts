/**
 * YAML as `dibs dag submit` reads it, so that one file is the same dag in the shell and here: YAML 1.1 as far as it is
 * JSON. `yes` is true, `010` is 8, `1:30` is 90, and an instant stays the text that was written.
 *
 * Numbers keep every digit: what a double cannot hold exactly becomes a `LosslessNumber`.
 */
import { isSafeNumber, LosslessNumber } from "lossless-json";
import { type Document, type DocumentOptions, type ParsedNode, parseDocument, type ScalarTag } from "yaml";

const tag = (name: string, test: RegExp, resolve: (text: string) => unknown): ScalarTag => ({
  tag: `tag:yaml.org,2002:${name}`,
  default: true,
  test,
  resolve,
});

function whole(text: string): unknown {
  const plain = text.replaceAll("_", "");
  const negative = plain.startsWith("-");
  const digits = plain.replace(/^[-+]/, "");
  let value: bigint;
  if (digits.includes(":")) value = digits.split(":").reduce((sum, part) => sum * 60n + BigInt(part), 0n);
  else if (/^0[0-7]+$/.test(digits)) value = BigInt(`0o${digits.slice(1)}`);
  else value = BigInt(digits);
  return exactly((negative ? -value : value).toString());
}

function fraction(text: string): unknown {
  const plain = text.replaceAll("_", "").replace(/^\+/, "");
  if (plain.includes(":")) {
    const negative = plain.startsWith("-");
    const sum = plain
      .replace("-", "")
      .split(":")
      .reduce((before, part) => before * 60 + Number(part), 0);
    return negative ? -sum : sum;
  }
  return exactly(plain.replace(/^\./, "0.").replace(/\.(?=$|e)/i, ".0"));
}

function exactly(text: string): unknown {
  return isSafeNumber(text, { approx: false }) ? Number(text) : new LosslessNumber(text);
}

const SHELL: ScalarTag[] = [
  tag("null", /^(?:~|null|Null|NULL|)$/, () => null),
  tag("bool", /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/, () => true),
  tag("bool", /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/, () => false),
  tag("int", /^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$/, whole),
  tag(
    "float",
    /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*)$/,
    fraction,
  ),
  tag("float", /^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/, (text) =>
    /nan/i.test(text) ? Number.NaN : text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY,
  ),
];

const JSONS: ScalarTag[] = [
  tag("null", /^null$/, () => null),
  tag("bool", /^true$/, () => true),
  tag("bool", /^false$/, () => false),
  tag("float", /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/, exactly),
];

const OPTIONS: DocumentOptions & Record<string, unknown> = {
  schema: "failsafe",
  uniqueKeys: true,
  prettyErrors: false,
  strict: true,
};

export type Parsed = Document.Parsed<ParsedNode>;

export function parseYaml(text: string): Parsed {
  return parseDocument(text, { ...OPTIONS, version: "1.1", merge: true, customTags: (tags) => [...tags, ...SHELL] });
}

/** The nodes of a text that is JSON, with their places. */
export function parseJson(text: string): Parsed {
  return parseDocument(text, { ...OPTIONS, version: "1.2", merge: false, customTags: (tags) => [...tags, ...JSONS] });
}
