import { createServer } from 'node:http';
import { type AwsKey, signerOf } from '../../bin/local/aws/server.ts';
import { headerValue, listen, receive, send, stop } from '../../bin/local/loopback.ts';

/** Stands in for CodeDeploy on 127.0.0.1, where hooks report how they ended, signed with one of the keys. */
export async function startCodeDeploy({ keys }: { readonly keys: readonly AwsKey[] }) {
  const reports: unknown[] = [];
  let failures = 0;
  const server = createServer(async (incoming, response) => {
    const request = await receive(incoming, 10_000);
    const signer = await signerOf(request, 'codedeploy', { keys }).catch(() => undefined);
    const isTaken = signer !== undefined && headerValue(request, 'x-amz-target') === TARGET && failures === 0;
    if (isTaken) reports.push(JSON.parse(Buffer.from(request.body).toString()));
    failures = Math.max(0, failures - 1);
    send(response, { status: isTaken ? 200 : 500, headers: {}, body: '{}' });
  });
  return {
    url: `http://127.0.0.1:${await listen(server, 0)}`,
    /** What hooks reported, in order. */
    reports,
    /** Lets the next reports fail. */
    fail: (count: number) => {
      failures = count;
    },
    close: () => stop(server),
  };
}

const TARGET = 'CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus';
