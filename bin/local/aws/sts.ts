import { AwsError } from './error.ts';
import { type AwsQueryServer, serveAwsQuery } from './query.ts';

/** What a role signs with once it is assumed. */
interface RoleKey {
  /** `arn:aws:iam::<account>:role/<path/><name>` */
  readonly role: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Stands in for AWS STS on 127.0.0.1: whoever assumes one of the roles gets its key, any other role is denied. */
export async function startSts({ roles, port, now = Date.now }: Options): Promise<AwsQueryServer> {
  const actions = new Map([
    [
      'AssumeRole',
      (input: URLSearchParams) => {
        const session = input.get('RoleSessionName') ?? '';
        const seconds = Number(input.get('DurationSeconds') ?? 3_600);
        if (!/^[\w+=,.@-]{2,64}$/.test(session)) throw new AwsError('ValidationError', 'RoleSessionName is wrong');
        if (!(seconds >= 900 && seconds <= 43_200)) throw new AwsError('ValidationError', 'DurationSeconds is wrong');
        const key = roles.find(({ role }) => role === input.get('RoleArn'));
        if (key === undefined) throw new AwsError('AccessDenied', 'Not authorized to perform: sts:AssumeRole', 403);
        return {
          Credentials: {
            AccessKeyId: key.accessKeyId,
            SecretAccessKey: key.secretAccessKey,
            SessionToken: key.sessionToken ?? '',
            Expiration: new Date(now() + seconds * 1_000).toISOString(),
          },
        };
      },
    ],
  ]);
  return serveAwsQuery({ actions, port });
}

interface Options {
  readonly roles: readonly RoleKey[];
  /** A free one when left out. */
  readonly port?: number;
  /** Epoch milliseconds. */
  readonly now?: () => number;
}
