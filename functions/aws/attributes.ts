import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { textOf } from '../broker/json.ts';

/** Returns the expiry date of an item: 90 days from now, longer than any latch matters. */
export function forgetAt(now: number): AttributeValue {
  return numeric(Math.ceil(now / 1_000) + 90 * 24 * 60 * 60);
}

export function numeric(value: number): AttributeValue {
  return { N: `${value}` };
}

export function json(value: object | number): AttributeValue {
  return { S: JSON.stringify(value) };
}

/** Returns the text of an attribute, or `undefined` if it is missing or of another type. */
export function text(attribute: AttributeValue | undefined): string | undefined {
  return textOf(attribute?.S);
}

/** Returns the number of an attribute, or `undefined` if it is missing or of another type. */
export function number(attribute: AttributeValue | undefined): number | undefined {
  const value = typeof attribute?.N === 'string' ? Number(attribute.N) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
