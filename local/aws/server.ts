import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { z } from 'zod';
import { UNSET_LOCAL } from '../../client/commands/failure.ts';
import type { SigningKey } from '../../functions/sigv4.ts';
import { verifySigV4 } from '../function-url/sigv4.ts';
import { type HttpAnswer, headerValue, type LoopbackServer, type ReceivedRequest, serve } from '../loopback.ts';
import { AwsError } from './aws-error.ts';

/** A key that the stand-ins of AWS accept. */
export interface AwsKey extends SigningKey {
  /** `arn:aws:iam::<account>:role/<path/><name>` */
  readonly role: string;
  /** Allows the role to read the values of secrets. */
  readonly mayReadSecrets: boolean;
  /** The role only views the table. Incidents do not affect it. */
  readonly isSpectator?: boolean;
}

interface Options {
  /** An absent or taken port is replaced by any free port. */
  readonly port?: number;
  readonly keys: readonly AwsKey[];
}

/** An API of AWS in a JSON protocol. */
export interface Api {
  /** The name in the scope of a signature. */
  readonly service: string;
  /** The part of `x-amz-target` before the name of an operation. */
  readonly target: string;
  /** Returns `undefined` when it writes to the response itself, or never answers. */
  readonly answer: (call: AwsCall) => HttpAnswer | undefined;
}

interface AwsCall {
  readonly operation: string;
  readonly key: AwsKey;
  readonly request: ReceivedRequest;
  readonly response: ServerResponse;
}

/** Serves APIs on 127.0.0.1 to AWS's SDKs and command line. Verifies every signature. */
export function serveAws(apis: readonly Api[], { port, keys }: Options): Promise<LoopbackServer> {
  async function respond(request: ReceivedRequest, response: ServerResponse): Promise<HttpAnswer | undefined> {
    try {
      const [target, operation = ''] = headerValue(request, 'x-amz-target')?.split('.') ?? [];
      const api = apis.find((known) => known.target === target);
      if (api === undefined) throw new AwsError('NoStandIn', NO_STAND_IN);
      if (!headerValue(request, 'authorization')) {
        throw new AwsError('MissingAuthenticationTokenException', 'Missing Authentication Token');
      }
      const key = verifySigV4(request, { service: api.service, keys, now: Date.now });
      return api.answer({ operation, key, request, response });
    } catch (error) {
      if (error instanceof AwsError) return refusal(request, error);
      throw error;
    }
  }

  return serve(respond, { port, maxBodyBytes: MAX_BODY_BYTES });
}

/** Higher than DynamoDB's limit, so that its engine refuses too large a body. */
const MAX_BODY_BYTES = 17 * 1_048_576;

/** Takes the members of a request and the key that signed it. Returns the members of the answer. */
export type Operation = (input: unknown, key: AwsKey) => object | undefined;

/** Returns an API of these operations. */
export function jsonApi(service: string, target: string, operations: Readonly<Record<string, Operation>>): Api {
  const known = new Map(Object.entries(operations));
  return {
    service,
    target,
    answer({ operation: name, request, key }) {
      const operation = known.get(name);
      if (operation === undefined) throw new AwsError('UnknownOperationException', 'There is no such operation');
      const headers = { 'content-type': JSON_TYPE, 'x-amzn-requestid': randomUUID() };
      return { status: 200, headers, body: JSON.stringify(operation(parseJson(request.body), key) ?? {}) };
    },
  };
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

/** Every `aws` command of a terminal with AWS_ENDPOINT_URL arrives here, for any service. */
const NO_STAND_IN = `npm start stands in for Secrets Manager, DynamoDB and CloudWatch Logs, not for this service: to reach AWS from this terminal, run ${UNSET_LOCAL} first.`;

/** Returns a failure in the format that the service of the request has, so that its client shows the message. */
function refusal(request: ReceivedRequest, { type, message, status }: AwsError): HttpAnswer {
  const isForm = headerValue(request, 'content-type')?.startsWith('application/x-www-form-urlencoded');
  if (!isForm && !/\/(s3|cloudfront|route53)\/aws4_request/.test(headerValue(request, 'authorization') ?? '')) {
    return { status, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify({ __type: type, message }) };
  }
  const error = `<Error><Code>${type}</Code><Message>${message.replaceAll('"', '&quot;')}</Message></Error>`;
  const body = isForm ? `<ErrorResponse>${error}</ErrorResponse>` : error;
  return { status, headers: { 'content-type': 'text/xml' }, body };
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
