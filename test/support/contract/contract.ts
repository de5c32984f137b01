import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { parseJson } from '../../../functions/broker/json.ts';
import { escaped, type Response, readContract, responseOf } from './openapi.ts';

/** What the two do not describe, since the last test. The files of a worker share it, as they share what is watched. */
export const undescribed: string[] = [];

/** One request to the broker and its answer. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How an answer differs from docs/openapi.yaml. */
export function faultsOf(exchange: Exchange): readonly string[] {
  differences ??= createContract();
  return differences(exchange).map((fault) => `${exchange.method} ${exchange.path}: ${fault}`);
}

/** How an audit line differs from docs/audit-line.schema.json. */
export function lineFaults(line: unknown): readonly string[] {
  validateLine ??= new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile(AUDIT_LINE_SCHEMA);
  if (validateLine(line)) return [];
  return (validateLine.errors ?? []).map(({ instancePath, message }) => `an audit line: ${instancePath} ${message}`);
}

/** docs/audit-line.schema.json. */
export const AUDIT_LINE_SCHEMA = JSON.parse(
  readFileSync(new URL('../../../docs/audit-line.schema.json', import.meta.url), 'utf8'),
);

// Made when they are needed first: most tests ask nothing of the broker.
let differences: ReturnType<typeof createContract> | undefined;
let validateLine: ValidateFunction | undefined;

function createContract(): (exchange: Exchange) => readonly string[] {
  const description = readContract();
  const { paths, components } = description;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema({ paths: closed(paths), components: closed(components) }, 'contract');

  return (exchange) => {
    const { method, path, status } = exchange;
    const isKnown = Object.hasOwn(paths, path);
    const describedAt = isKnown ? path : '/token';
    const described = responseOf(description, describedAt, status);
    const isPossible = isOfAws(exchange) || canBe(status, method, isKnown);
    if (described === undefined || !isPossible) return [`${status} is not described for ${method} ${path}`];
    const { response, pointer } = described;
    return [...headerFaults(response, exchange), ...bodyFaults(response, pointer, exchange)];
  };

  function headerFaults({ headers: described = {} }: Response, exchange: Exchange): readonly string[] {
    const { headers } = exchange;
    const references = new Map(Object.entries(described).map(([name, { $ref }]) => [name.toLowerCase(), $ref]));
    const expected = isOfAws(exchange) ? [] : [...references.keys()].filter((name) => !NOT_ALWAYS.has(name));
    const missing = expected.filter((name) => !Object.hasOwn(headers, name));
    const wrong = Object.entries(headers).flatMap(([name, value]) => {
      if (name === 'content-type') return [];
      const reference = references.get(name);
      if (reference === undefined) return [`the header ${name} is not described`];
      return faults(`${reference}/schema`, /^\d+$/.test(value) ? Number(value) : value, `the header ${name}`);
    });
    return [...missing.map((name) => `the header ${name} is missing`), ...wrong];
  }

  function bodyFaults({ content = {} }: Response, pointer: string, { headers, body }: Exchange): readonly string[] {
    const type = headers['content-type'] ?? 'no content type';
    if (!Object.hasOwn(content, type)) return [`${type} is not described`];
    return faults(`${pointer}/content/${escaped(type)}/schema`, parseJson(body) ?? body, 'the body');
  }

  function faults(pointer: string, value: unknown, what: string): readonly string[] {
    const validate = ajv.getSchema(`contract${pointer}`);
    if (validate === undefined) return [`there is no schema at ${pointer}`];
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${what}${instancePath} ${message}`);
  }
}

/** The 404 and 405 of an operation are for other paths and methods; a forbidden caller is refused there, too. */
function canBe(status: number, method: string, isKnown: boolean): boolean {
  if (!isKnown) return status === 403 || status === 404;
  return method === 'POST' ? status !== 404 && status !== 405 : status === 403 || status === 405;
}

/** AWS answers before the broker sees the path. */
function isOfAws({ headers, status }: Exchange): boolean {
  return Object.hasOwn(headers, 'x-amzn-errortype') || status === 502;
}

/** Callers are to expect further members one day; here, each has to be described today. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  // A part of `allOf` describes only some of the members.
  const close = (name: string, part: unknown) => (name === 'allOf' ? part : closed(part));
  const members = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, close(name, part)]));
  const isObjectSchema = members.type === 'object' && members.properties !== undefined;
  return isObjectSchema ? { additionalProperties: false, ...members } : members;
}

const NOT_ALWAYS: ReadonlySet<string> = new Set(['retry-after', 'x-amzn-errortype']);
