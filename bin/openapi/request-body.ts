/** A body of one schema, in both media types that the broker reads, with the same examples. */
export function requestBody(schema: string, examples: Readonly<Record<string, object>>) {
  const media = { schema: { $ref: `#/components/schemas/${schema}` }, examples };
  return {
    description: 'At most 16 KiB, in UTF-8.',
    required: true,
    content: { 'application/json': media, 'application/x-www-form-urlencoded': media },
  };
}
