/** @import { CallForm, CallReport, Outcome, SeenRequest, State } from './messages.ts' */

// All that is shown comes in as text and stays text: nothing here writes HTML.

const ask = /** @type {HTMLFormElement} */ (find('ask'));
/** @type {State} */
let state = { running: [], callers: [], clients: [], services: [], requests: [] };
let asked = /** @type {CallForm | undefined} */ (undefined);
let shown = /** @type {{ form: CallForm, report: CallReport } | undefined} */ (undefined);
/** What each call came to the last time, by `keyOf`. @type {Map<string, Outcome>} */
const outcomes = new Map();

find('callers').addEventListener('change', showPairs);
find('operations').addEventListener('change', showPairs);
ask.addEventListener('submit', (event) => {
  event.preventDefault();
  call(formOf(value('client'), value('service')));
});
find('whoami').addEventListener('click', () => call({ caller: value('caller'), operation: 'whoami' }));
find('reveal').addEventListener('click', () => {
  if (shown) call({ ...shown.form, reveal: !shown.form.reveal });
});
find('refuse').addEventListener('click', () => {
  if (shown) call({ ...shown.form, min_ttl: undefined, refused: shown.report.fingerprint });
});
find('copy').addEventListener('click', async () => {
  await navigator.clipboard.writeText(shown?.report.curl ?? '');
  say('The command is copied.');
});
setInterval(look, 1_000);
look();

/** Shows what is running, what can be asked and what was asked last. */
async function look() {
  try {
    showState(await (await fetch('/state')).json());
    showConnection('live');
  } catch {
    showConnection('not running');
  }
}

/** @param {'live' | 'not running'} word */
function showConnection(word) {
  if (find('connection').textContent === word) return;
  find('connection').textContent = word;
  find('connection').className = word.replace(' ', '-');
}

/** @param {SeenRequest} request */
function requestRow({ at, outcome, caller, subject, origin, milliseconds }) {
  const time = element('time', { dateTime: new Date(at).toISOString() }, new Date(at).toLocaleTimeString('en-GB'));
  return element(
    'tr',
    {},
    element('td', {}, mark(outcome), element('small', {}, caller ?? '')),
    element('td', {}, subject, element('small', {}, origin ?? '')),
    element('td', {}, milliseconds === undefined ? '' : `${milliseconds} ms`, element('small', {}, time)),
  );
}

/** @param {Outcome} outcome */
function mark({ word, kind }) {
  return element('span', { className: `outcome ${kind}` }, word);
}

/** @param {State} told */
function showState(told) {
  const before = state;
  state = told;
  /** @param {...keyof State} names */
  const differs = (...names) => names.some((name) => JSON.stringify(before[name]) !== JSON.stringify(told[name]));
  if (differs('requests')) find('requests').replaceChildren(...told.requests.map(requestRow));
  if (!differs('running', 'callers', 'clients', 'services')) return;
  /** @param {State} one */
  const ids = (one) => one.callers.map(({ id }) => id).join();
  if (ids(before) !== ids(told)) {
    const radios = told.callers.map(({ id, name }, index) => {
      const radio = element('input', { type: 'radio', name: 'caller', value: id, checked: index === 0 });
      return element('label', {}, radio, name);
    });
    find('callers').replaceChildren(...radios);
  }
  find('running').replaceChildren(...told.running.flatMap(entry));
  find('services').replaceChildren(...told.services.flatMap(entry));
  showPairs();
}

/** @param {State['running'][number]} part */
function entry({ name, url }) {
  return [element('dt', {}, name), element('dd', {}, element('code', {}, url))];
}

/** Shows what the chosen caller may ask for, and what came of it. */
function showPairs() {
  const caller = state.callers.find(({ id }) => id === value('caller'));
  const services = state.services.map(({ name }) => name);
  const heads = ['Client', ...services].map((name) => element('th', { scope: 'col' }, name));
  const rows = state.clients.map(({ name, state: stopped = '' }) => {
    const head = element('th', { scope: 'row' }, name, element('small', { className: 'refused' }, stopped));
    return element('tr', {}, head, ...services.map((service) => pairCell(name, service, caller)));
  });
  find('pair-heads').replaceChildren(element('tr', {}, ...heads));
  find('pairs').replaceChildren(...rows);
  find('role').textContent = caller?.role ?? '';
  find('min-ttl').hidden = value('operation') !== 'token';
}

/** @param {string} client @param {string} service @param {State['callers'][number] | undefined} caller */
function pairCell(client, service, caller) {
  const form = formOf(client, service);
  const button = element('button', { type: 'button', ariaLabel: `Ask for ${client} on ${service}` }, 'Ask');
  button.addEventListener('click', () => call(formOf(client, service)));
  const isAllowed = caller?.allowed.includes(`${form.operation} ${client}/${service}`);
  const outcome = outcomes.get(keyOf(form));
  const note = outcome ? mark(outcome) : isAllowed ? 'a rule allows it' : 'no rule allows it';
  return element('td', {}, button, element('small', { id: keyOf(form) }, note));
}

/** @param {CallForm} form */
async function call(form) {
  asked = form;
  say('Asking …');
  const report = await post(form);
  if (report === undefined) return;
  outcomes.set(keyOf(form), report.outcome);
  document.getElementById(keyOf(form))?.replaceChildren(mark(report.outcome));
  // A slower answer to an earlier question does not take the place of this one.
  if (form !== asked) return;
  shown = { form, report };
  find('curl').textContent = report.curl;
  find('request').textContent = report.request;
  find('answer').textContent = report.answer;
  find('reveal').ariaPressed = `${form.reveal ?? false}`;
  find('token-actions').hidden = report.fingerprint === undefined;
  find('report').hidden = false;
  say(mark(report.outcome), report.summary, element('span', {}, report.advice ?? ''));
  // There the answer is below what leads to it: as in page.css.
  if (matchMedia('(width < 60rem)').matches) find('answer-title').scrollIntoView();
}

/** Says what went wrong instead of failing. @param {CallForm} form @returns {Promise<CallReport | undefined>} */
async function post(form) {
  const headers = { 'content-type': 'application/json' };
  try {
    const response = await fetch('/call', { method: 'POST', headers, body: JSON.stringify(form) });
    const answer = await response.json();
    return response.ok ? answer : say(answer.message);
  } catch {
    return say('No answer: is npm start still running?');
  }
}

/** @param {string} client @param {string} service @returns {CallForm} */
function formOf(client, service) {
  const operation = value('operation') === 'check' ? 'check' : 'token';
  const seconds = operation === 'token' ? value('min_ttl') : '';
  return { caller: value('caller'), operation, client, service, min_ttl: seconds === '' ? undefined : Number(seconds) };
}

/** @param {CallForm} form */
function keyOf({ caller, operation, client, service }) {
  return [caller, operation, client, service].join('/');
}

/** @param {string} name */
function value(name) {
  return `${new FormData(ask).get(name) ?? ''}`;
}

/** @param {(Node | string)[]} words @returns {undefined} */
function say(...words) {
  find('summary').replaceChildren(...words);
}

/** @param {string} id @returns {HTMLElement} */
function find(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @param {string} tag @param {Record<string, string | boolean>} properties @param {(Node | string)[]} children */
function element(tag, properties, ...children) {
  const created = Object.assign(document.createElement(tag), properties);
  created.append(...children);
  return created;
}
