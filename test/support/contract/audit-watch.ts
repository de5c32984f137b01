import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** How an audit line differs from docs/audit-line.schema.json. */
export function lineFaults(line: unknown): readonly string[] {
  validate ??= new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile(AUDIT_LINE_SCHEMA);
  if (validate(line)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `an audit line: ${instancePath} ${message}`);
}

/** docs/audit-line.schema.json. */
export const AUDIT_LINE_SCHEMA = JSON.parse(
  readFileSync(new URL('../../../docs/audit-line.schema.json', import.meta.url), 'utf8'),
);

/** Made when it is needed first. */
let validate: ValidateFunction | undefined;
