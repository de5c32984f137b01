import type { ServerResponse } from 'node:http';
import { AwsError } from '../../../local/aws/aws-error.ts';

/** Ways in which a service can fail a call, by name. */
export type Fault = keyof typeof FAULTS;

/** The effect of each fault on an answer. The word `garbage` marks text that no caller may ever repeat. */
export const FAULTS = {
  throttled: refuse(new AwsError('ThrottlingException', 'Rate exceeded: garbage')),
  'access-denied': refuse(new AwsError('AccessDeniedException', 'User: garbage is not authorized')),
  'internal-error': refuse(new AwsError('InternalServiceError', 'An error occurred: garbage', 500)),
  /** A success whose body breaks off in the middle of the secret. */
  garbage: (response: ServerResponse) => {
    response.writeHead(200, HEADERS).end('{"SecretString":"garbage"garbage');
  },
  /** Never answers. */
  hang: () => undefined,
  /** Cuts the connection. */
  reset: (response: ServerResponse) => {
    response.socket?.resetAndDestroy();
  },
} as const satisfies Record<string, (response: ServerResponse) => void>;

const HEADERS = { 'content-type': 'application/x-amz-json-1.1' };

function refuse({ type, message, status }: AwsError) {
  return (response: ServerResponse): void => {
    response.writeHead(status, HEADERS).end(JSON.stringify({ __type: type, Message: message }));
  };
}
