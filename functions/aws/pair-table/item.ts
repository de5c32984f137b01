import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** The attributes of one pair as the table holds them. */
export type Item = Readonly<Record<string, AttributeValue>>;

/** The text of an attribute; `undefined` when it is missing or of another type. */
export function text(attribute: AttributeValue | undefined): string | undefined {
  return typeof attribute?.S === 'string' ? attribute.S : undefined;
}

/** The number of an attribute; `undefined` when it is missing or of another type. */
export function number(attribute: AttributeValue | undefined): number | undefined {
  const value = typeof attribute?.N === 'string' && attribute.N.trim() !== '' ? Number(attribute.N) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
