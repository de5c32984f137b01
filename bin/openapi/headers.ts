interface Extra {
  readonly retryAfter?: boolean;
  readonly allow?: boolean;
  readonly cacheStatus?: boolean;
}

/** The headers of one answer of the broker. */
export function headersOf({ retryAfter = false, allow = false, cacheStatus = false }: Extra = {}) {
  return {
    'Cache-Control': headerReference('CacheControl'),
    'X-Content-Type-Options': headerReference('ContentTypeOptions'),
    ...(retryAfter && { 'Retry-After': headerReference('RetryAfter') }),
    ...(allow && { Allow: headerReference('Allow') }),
    ...(cacheStatus && {
      'Cache-Status': headerReference('CacheStatus'),
      'Server-Timing': headerReference('ServerTiming'),
    }),
  };
}

export function headerReference(name: keyof typeof HEADERS) {
  return { $ref: `#/components/headers/${name}` };
}

/** `components.headers`. The first two are on every answer of the broker, but AWS shares two of its statuses. */
export const HEADERS = {
  CacheControl: {
    description: 'On every answer of the broker: nobody may keep it.',
    schema: { type: 'string', const: 'no-store' },
  },
  ContentTypeOptions: {
    description: 'On every answer of the broker: the body is what its type says.',
    schema: { type: 'string', const: 'nosniff' },
  },
  RetryAfter: {
    description:
      'Whole seconds after which the broker would ask the service again; left out where that is not known. Of a 424 it is no invitation to repeat the request: an operator must act first.',
    schema: { type: 'integer', minimum: 1 },
  },
  Allow: { description: 'The only method.', required: true, schema: { type: 'string', const: 'POST' } },
  CacheStatus: {
    description:
      'Where the token came from (RFC 9211): the memory of one environment, the cache that all share, or a token request.',
    required: true,
    schema: {
      type: 'string',
      enum: ['token-broker; hit; detail=memory', 'token-broker; hit; detail=shared', 'token-broker; fwd=miss'],
    },
  },
  ServerTiming: {
    description: 'How many milliseconds the broker took.',
    required: true,
    schema: { type: 'string', pattern: '^broker;dur=\\d+(\\.\\d+)?$' },
  },
  AwsErrorType: {
    description: 'On answers of AWS alone: which of its errors.',
    schema: { type: 'string', pattern: '^[A-Za-z]+$' },
  },
} as const;
