/** An AWS service has answered no, and would give the same answer again; what is transient by its name or status is none. */
export function isRefusal(error: unknown): boolean {
  const status = error instanceof Error ? statusOf(error) : 0;
  return status >= 400 && status < 500 && status !== 429 && !TRANSIENT.test(`${error}`);
}

/** Of an error that a service has sent; 0 for what the SDK made of an answer that it could not read. */
function statusOf(error: Error): number {
  if (!('$fault' in error && '$metadata' in error)) return 0;
  const { $metadata: metadata } = error;
  const isNumbered = typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata;
  return isNumbered ? Number(metadata.httpStatusCode) : 0;
}

/** After the errors of the last line the SDK has set its clock by the answer: the next call is signed with the right time. */
const TRANSIENT = new RegExp(
  '^[^:]*(Throttl|LimitExceeded|TooManyRequests|Timeout|ThroughputExceeded|' +
    'TimeTooSkewed|RequestExpired|RequestInTheFuture|InvalidSignature|SignatureDoesNotMatch)',
);
