import { headerReference } from './headers.ts';

/** Adds to the responses of an operation what AWS answers by itself, in front of the function: plain JSON, no problem. */
export function withAwsAnswers(responses: Readonly<Record<string, DocumentedResponse>>) {
  const merged = Object.entries(AWS_ANSWERS).map(([status, { about, examples }]) => {
    const ofBroker = responses[status];
    const response: DocumentedResponse = {
      description: ofBroker === undefined ? about : `${ofBroker.description}\n\n${about}`,
      headers: { ...ofBroker?.headers, 'x-amzn-ErrorType': headerReference('AwsErrorType') },
      content: {
        ...ofBroker?.content,
        'application/json': { schema: { $ref: '#/components/schemas/AwsError' }, examples },
      },
    };
    return [status, response] as const;
  });
  return { ...responses, ...Object.fromEntries(merged), 502: FUNCTION_FAILED };
}

export interface DocumentedResponse {
  readonly description: string;
  readonly headers?: object;
  readonly content?: object;
}

/** `message` is AWS's wording and can change. */
export const AWS_ERROR_SCHEMA = {
  description: 'An answer of AWS, not of the broker: it has no `type`.',
  type: 'object',
  properties: {
    message: { type: 'string', description: 'What AWS says of the request or its signature.' },
    Message: { type: ['string', 'null'], description: 'What AWS says of whoever signed, or of a URL that is no more.' },
    Reason: { type: 'string', description: 'Why AWS throttled the request.' },
    Type: { type: 'string', description: 'Whose limit it was.' },
  },
  anyOf: [{ required: ['message'] }, { required: ['Message'] }],
};

const AWS_ANSWERS: Readonly<Record<string, { readonly about: string; readonly examples: object }>> = {
  403: {
    about:
      'As `application/json` it comes from AWS: the request is unsigned, the signature, its clock, region or keys are wrong, or no policy lets the role call the Function URL.',
    examples: {
      policy: {
        summary: 'Unsigned, or no policy lets this role in',
        value: {
          Message:
            'Forbidden. For troubleshooting Function URL authorization issues, see: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html',
        },
      },
      signature: {
        summary: 'Another signature than AWS calculates',
        value: { message: 'The request signature we calculated does not match the signature you provided.' },
      },
      expired: {
        summary: 'The clock of the caller is more than five minutes off',
        value: {
          message:
            'Signature expired: 20260101T000000Z is now earlier than 20260101T000100Z (20260101T000600Z - 5 min.)',
        },
      },
      scope: {
        summary: 'Signed for another region',
        value: { message: "Credential should be scoped to a valid region, not 'us-east-1'. " },
      },
      keys: {
        summary: 'Keys that AWS does not know',
        value: { message: 'The security token included in the request is invalid.' },
      },
      role: {
        summary: "A role's keys that are over",
        value: { message: 'The security token included in the request is expired' },
      },
    },
  },
  413: {
    about: 'As `application/json` it comes from AWS: the body has more than 6 MB.',
    examples: {
      size: {
        summary: 'More than 6 MB',
        value: { message: 'Request must be smaller than 6291456 bytes for the InvokeFunction operation' },
      },
    },
  },
  429: {
    about: 'From AWS: too many requests at the same time. Try again, slower.',
    examples: {
      concurrency: {
        summary: 'As many invocations run as may',
        value: {
          Reason: 'ReservedFunctionConcurrentInvocationLimitExceeded',
          Type: 'User',
          message: 'Rate Exceeded.',
        },
      },
    },
  },
};

/** Lambda calls this text JSON. */
const FUNCTION_FAILED: DocumentedResponse = {
  description:
    'From AWS: the function gave no usable answer. The body is a text whatever its type says. Try again. Any other 5xx without a `type` means the same.',
  content: { 'application/json': { schema: {}, example: 'Internal Server Error' } },
};
