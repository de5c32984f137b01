import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { type SigningKey, SigV4Refusal, verifySigV4 } from '../function-url/sigv4.ts';
import { type HttpAnswer, headerValue, type LoopbackServer, type ReceivedRequest, serve } from '../loopback.ts';

/** A key that the stand-ins of AWS accept. */
export interface AwsKey extends SigningKey {
  /** `arn:aws:iam::<account>:role/<path/><name>` */
  readonly role: string;
  /** Allows the role to read the values of secrets. */
  readonly mayReadSecrets: boolean;
}

/** The port of a stand-in and the signatures that it accepts. */
export interface StandInOptions {
  /** An absent or taken port is replaced by any free port. */
  readonly port?: number | undefined;
  readonly keys: readonly AwsKey[];
  /** Accepts signatures of any date. Processes with a simulated clock need this. */
  readonly ageless?: boolean | undefined;
}

/** Takes the members of a request and the key that signed it. Returns the members of the answer. */
export type Operation = (input: unknown, key: AwsKey) => object | undefined;

interface Options extends StandInOptions {
  /** The name of the AWS service in the scope of a signature. */
  readonly service: string;
  readonly operations: Readonly<Record<string, Operation>>;
}

/** Serves operations of AWS JSON 1.1 on 127.0.0.1 to AWS's SDKs and command line. Verifies every signature. */
export async function serveAws({ service, operations, ...signatures }: Options): Promise<LoopbackServer> {
  const known = new Map(Object.entries(operations));

  async function respond(request: ReceivedRequest): Promise<HttpAnswer> {
    try {
      const key = await signerOf(request, service, signatures);
      const operation = known.get(headerValue(request, 'x-amz-target')?.split('.')[1] ?? '');
      if (operation === undefined) throw new AwsError('UnknownOperationException', 'There is no such operation');
      const headers = { 'content-type': JSON_TYPE, 'x-amzn-requestid': randomUUID() };
      return { status: 200, headers, body: JSON.stringify(operation(parseJson(request.body), key) ?? {}) };
    } catch (error) {
      return jsonRefusal(error);
    }
  }

  return serve(respond, { port: signatures.port });
}

/** Returns the key that signed a request. Throws an `AwsError` when no key matches. */
export async function signerOf(request: ReceivedRequest, service: string, signatures: StandInOptions): Promise<AwsKey> {
  if (!headerValue(request, 'authorization')) {
    throw new AwsError('MissingAuthenticationTokenException', 'Missing Authentication Token');
  }
  const { keys, ageless } = signatures;
  try {
    return await verifySigV4(request, { service, keys, now: ageless ? undefined : Date.now });
  } catch (error) {
    throw error instanceof SigV4Refusal ? new AwsError(error.errorType, error.message) : error;
  }
}

/** Returns an operation that only runs with valid input. As in AWS, members outside the schema are ignored. */
export function operation<Schema extends z.ZodType>(
  schema: Schema,
  run: (input: z.output<Schema>, key: AwsKey) => object | undefined,
): Operation {
  return (input, key) => {
    const parsed = schema.safeParse(input);
    if (parsed.success) return run(parsed.data, key);
    // The message names the invalid member without its content.
    const [issue] = parsed.error.issues;
    throw new AwsError('ValidationException', `Value at '${issue?.path.join('.')}' is not valid: ${issue?.message}`);
  };
}

/** A failure in AWS's form. `type` becomes `__type`. The message contains no value of the request. */
export class AwsError extends Error {
  override readonly name = 'AwsError';
  readonly type: string;
  readonly status: number;

  constructor(type: string, message: string, status = 400) {
    super(message);
    this.type = type;
    this.status = status;
  }
}

/** Returns the answer for a failure in AWS's JSON protocols. */
export function jsonRefusal(error: unknown, contentType = JSON_TYPE): HttpAnswer {
  const { type, message, status } = asAwsError(error);
  return { status, headers: { 'content-type': contentType }, body: JSON.stringify({ __type: type, Message: message }) };
}

/** Reports only the name of an unexpected error, because its message could quote a secret. */
function asAwsError(error: unknown): AwsError {
  if (error instanceof AwsError) return error;
  return new AwsError('InternalFailure', error instanceof Error ? error.name : 'unknown', 500);
}

const JSON_TYPE = 'application/x-amz-json-1.1';

/** Drops members that are null, because AWS treats them as absent. */
function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'), (_key, value) => value ?? undefined);
  } catch {
    throw new AwsError('SerializationException', 'The body is not well-formed JSON');
  }
}
