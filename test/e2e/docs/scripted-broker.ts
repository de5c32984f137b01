import { onTestFinished } from 'vitest';
import { type FunctionUrlSettings, startFunctionUrl } from '../../../local/function-url/server.ts';

/** The role that calls, with the session token of a Lambda function. */
export const ROLE = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'ASIAEXAMPLE',
  secretAccessKey: 'session/secret+',
  sessionToken: 'IQoJb3JpZ2luX2VjE+/token==',
};

/** The variables of that role, as Lambda sets them. */
export const ROLE_VARIABLES = {
  AWS_REGION: 'us-east-1',
  AWS_DEFAULT_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: ROLE.accessKeyId,
  AWS_SECRET_ACCESS_KEY: ROLE.secretAccessKey,
  AWS_SESSION_TOKEN: ROLE.sessionToken,
};

/** A Function URL for one test that lets only that role in; `asked` are the paths and the members of the calls. */
export async function startScriptedBroker(answer: (call: number) => unknown) {
  const asked: (readonly [path: string, members: Readonly<Record<string, unknown>>])[] = [];
  const handler: FunctionUrlSettings['handler'] = async ({ rawPath, body }) =>
    answer(asked.push([rawPath, membersOf(body ?? '{}')]) - 1);
  const { url, close } = await startFunctionUrl({ handler, callers: [ROLE], port: 0 });
  onTestFinished(close);
  return { url, variables: { ...ROLE_VARIABLES, TOKEN_BROKER_URL: url }, asked };
}

/** Returns the members of JSON or, as curl sends them, of a form. */
function membersOf(body: string): Readonly<Record<string, unknown>> {
  return body.startsWith('{') ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
}
