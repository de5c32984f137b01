/** Answers without doing anything: what Node and the runtime client cost. */
export async function handler() {
  return ANSWER;
}

const ANSWER = { statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{}' };
