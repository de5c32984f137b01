import { type Api, type AwsKey, serveAws } from '../../../local/aws/server.ts';

/** Stands in for CodeDeploy on 127.0.0.1, where hooks report how they ended, signed with one of the keys. */
export async function startCodeDeploy({ keys }: { readonly keys: readonly AwsKey[] }) {
  const reports: unknown[] = [];
  let failures = 0;
  const api: Api = {
    service: 'codedeploy',
    target: 'CodeDeploy_20141006',
    answer({ operation, request }) {
      const isTaken = operation === 'PutLifecycleEventHookExecutionStatus' && failures === 0;
      if (isTaken) reports.push(JSON.parse(Buffer.from(request.body).toString()));
      failures = Math.max(0, failures - 1);
      return { status: isTaken ? 200 : 500, body: '{}' };
    },
  };
  return {
    ...(await serveAws([api], { keys })),
    /** The reports of the hooks, in order. */
    reports,
    /** Lets the next reports fail. */
    fail: (count: number) => {
      failures = count;
    },
  };
}
