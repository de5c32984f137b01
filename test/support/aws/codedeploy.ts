import { type AwsKey, signerOf } from '../../../local/aws/server.ts';
import { headerValue, serve } from '../../../local/loopback.ts';

/** Stands in for CodeDeploy on 127.0.0.1, where hooks report how they ended, signed with one of the keys. */
export async function startCodeDeploy({ keys }: { readonly keys: readonly AwsKey[] }) {
  const reports: unknown[] = [];
  let failures = 0;
  const server = await serve(async (request) => {
    signerOf(request, 'codedeploy', { keys });
    const isTaken = headerValue(request, 'x-amz-target') === TARGET && failures === 0;
    if (isTaken) reports.push(JSON.parse(Buffer.from(request.body).toString()));
    failures = Math.max(0, failures - 1);
    return { status: isTaken ? 200 : 500, body: '{}' };
  });
  return {
    ...server,
    /** The reports of the hooks, in order. */
    reports,
    /** Lets the next reports fail. */
    fail: (count: number) => {
      failures = count;
    },
  };
}

const TARGET = 'CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus';
