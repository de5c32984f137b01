import { type Members, parseJsonObject } from '../../../../functions/broker/json.ts';
import { type Answer, answerWith } from '../../../unit/client/loopback-server.ts';
import { answering } from './command-line.ts';

/** What a command asks AWS for. */
export interface AwsCall {
  /** `DescribeStacks`, or `GET /2015-03-31/…` or `DryRun POST /2015-03-31/…` where the protocol has no names. */
  readonly operation: string;
  readonly members: Members;
  /** The access key that signed it. */
  readonly key: string | undefined;
}

/** XML for the query protocol, members for the other protocols, or a refusal for any. */
export type AwsResult = string | Members | Refusal;

/** The answer, in the form of the query protocol or of the others. */
type Refusal = (isForm: boolean) => Answer;

/** Returns a refusal by this word of AWS. */
export function refused(word: string, status = 400, message = ''): Refusal {
  const error = `<Error><Code>${word}</Code><Message>${message}</Message></Error>`;
  return (isForm) =>
    isForm
      ? answerWith(status, `<ErrorResponse>${error}</ErrorResponse>`)
      : answerWith(status, { message }, { 'x-amzn-errortype': `${word}:` });
}

/** Stands in for the services of AWS until the end of the test, and keeps the `calls`. */
export async function startAws(answer: (call: AwsCall) => AwsResult) {
  const calls: AwsCall[] = [];
  const { url } = await answering((response, request) => {
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
    const { body } = request;
    const members: Members = isForm ? Object.fromEntries(new URLSearchParams(body)) : (parseJsonObject(body) ?? {});
    const named = `${request.headers['x-amz-target'] ?? members.Action ?? ''}`.replace(/^.*\./, '');
    const kind = request.headers['x-amz-invocation-type'];
    const operation = named || [kind, request.method, request.url].join(' ').trim();
    const key = /(?<=Credential=)\w+/.exec(request.headers.authorization ?? '')?.[0];
    const call = { operation, members, key };
    calls.push(call);
    const result = answer(call);
    const ofXml = (xml: string) => `<Response><${operation}Result>${xml}</${operation}Result></Response>`;
    const given =
      typeof result === 'function'
        ? result(isForm)
        : answerWith(200, typeof result === 'string' ? ofXml(result) : result);
    given(response, request);
  });
  return { url, calls };
}
