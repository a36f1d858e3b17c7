import { expect, test } from 'vitest';
import { type Gateway, GW, oneGateway, startGateway } from '../harness/gateway.ts';
import { launch } from '../harness/launch.ts';
import type { Owner } from '../harness/owner.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();

/** With two workers, and a ring of its own for each test. */
const load = oneGateway({ workers: 2, env: { KEY: 'the-key' } });

const conf = (zone: string, more = '') => `server { location = /internal/events {
  worker_events_api; worker_events_zone ${zone}; worker_events_channel deploy; ${more} } }`;

/** Starts `gw events tail`, which follows the events until the test ends. */
async function tail(t: Owner, gateway: Gateway, ...args: string[]) {
  const program = launch(process.execPath, [GW, 'events', 'tail', '-c', 'gw.conf', ...args], {
    cwd: gateway.dir,
  });
  t.onTestFinished(async () => void (await program.stop()));
  return program;
}

const events = (gateway: Gateway, ...args: string[]) => gw(gateway.dir, ['events', ...args, '-c', 'gw.conf']);
const publish = (gateway: Gateway, ...args: string[]) => events(gateway, 'publish', ...args);

test('a published event is shown to followers, also across a reload', async (t) => {
  const gateway = await load(t, conf('followed'));
  expect(await publish(gateway, 'first')).toEqual({
    code: 0,
    stdout: 'published as generation 1 on channel deploy\n',
    stderr: '',
  });
  const followed = await tail(t, gateway, '--since', '0');
  await followed.waitForOutput(/ 1 deploy first\n/);
  await publish(gateway, 'started', 'version "1.2"');
  await followed.waitForOutput(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 2 deploy started version "1\.2"$/m);
  expect(await gateway.reload(conf('followed', 'worker_events_stream on;'))).toBe('done');
  await publish(gateway, 'after', '');
  await followed.waitForOutput(/ 3 deploy after \n/);
  expect(followed.output().match(/ deploy /g)).toHaveLength(3);
});

test('the newest events are listed, also without the command', async (t) => {
  const gateway = await load(t, conf('listed'));
  const said = (stdout: string) => ({ code: 0, stdout, stderr: '' });
  expect(await events(gateway)).toEqual(said('no events\n'));
  for (let number = 1; number <= 22; number++) await publish(gateway, number === 22 ? 'b' : 'a', `${number}`);
  const { stdout } = await events(gateway);
  expect(stdout.match(/(?<=Z )\d+ deploy .*/g)).toEqual([
    ...Array.from({ length: 19 }, (_, at) => `${at + 3} deploy a ${at + 3}`),
    '22 deploy b 22',
  ]);
  expect(await events(gateway, 'list')).toEqual(said(stdout));
  const { stdout: json } = await events(gateway, '--json', '--type', 'a', '--since', '20');
  expect(JSON.parse(json)).toMatchObject({ generation: 21, type: 'a', payload: '21' });
  expect((await events(gateway, 'lst')).stderr).toContain('did you mean "list"?');
});

test('a follower may choose channel and type, and read JSON', async (t) => {
  const gateway = await load(t, conf('chosen'));
  const chosen = await tail(t, gateway, '--channel', '', '--type', 'b', '--json', '--since', '0');
  for (const type of ['a', 'b']) await publish(gateway, type, `of ${type}`);
  await chosen.waitForOutput(/\n/);
  expect(JSON.parse(chosen.output())).toMatchObject({
    generation: 2,
    channel: 'deploy',
    type: 'b',
    payload: 'of b',
  });
});

test('control characters of an event are shown as text', async (t) => {
  const gateway = await load(t, conf('controls'));
  const followed = await tail(t, gateway, '--since', '0');
  await publish(gateway, 'type\n', '\u001b]0;owned\u0007');
  await followed.waitForOutput(/\n/);
  expect(followed.output()).toMatch(/ 1 deploy type\\u000a \\u001b\]0;owned\\u0007\n$/);
});

test('a follower is told how much it missed, and ends when the gateway does', async (t) => {
  const gateway = await startGateway(t, conf('small', 'worker_events_ring_size 2;'));
  for (const type of ['a', 'b', 'c']) await publish(gateway, type);
  const followed = await tail(t, gateway, '--since', '0');
  await followed.waitForOutput(/ 3 deploy c\n/);
  expect(followed.output()).toMatch(/^gw: 1 events were overwritten before they could be read$/m);
  await gateway.stop();
  expect(await followed.exited).toEqual({ code: 1, signal: null });
  expect(followed.output()).toMatch(/\ngw: http:\S+ does not respond: .*\n$/);
});

test('the publish key comes from the configuration, or from the command line', async (t) => {
  const gateway = await load(t, conf('locked', 'worker_events_publish_key ${env:KEY};'));
  const withKey = { KEY: 'the-key' };
  const address = ['--address', `${gateway.url}/internal/events`];
  expect((await gw(gateway.dir, ['events', 'publish', 'a', '-c', 'gw.conf'], withKey)).code).toBe(0);
  expect((await gw(gateway.dir, ['events', 'publish', 'b', '--key', 'the-key', ...address])).code).toBe(0);
  expect(await gw(gateway.dir, ['events', 'publish', 'c', ...address])).toEqual({
    code: 1,
    stdout: '',
    stderr: `gw: ${gateway.url}/internal/events responds with 401: unauthorized: the publish key is missing or wrong\n`,
  });
  const { stdout } = await gw(gateway.dir, [
    'events',
    'publish',
    'd',
    '--key',
    'the-key',
    '--json',
    ...address,
  ]);
  expect(JSON.parse(stdout)).toMatchObject({ status: 'published', generation: 3, channel: 'deploy' });
});

const wrong = [
  { args: ['tail', '--since', 'x'], stderr: /responds with 400: since must be a non-negative integer\n$/ },
  { args: ['publish', ''], stderr: /responds with 400: type must not be empty\n$/ },
  { args: ['publish', 't', 'x'.repeat(513)], stderr: /responds with 400: payload exceeds 512 bytes\n$/ },
];
test('a refusal of the endpoint is reported', async (t) => {
  const gateway = await load(t, conf('refused'));
  for (const { args, stderr } of wrong) {
    expect(await events(gateway, ...args)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(stderr) as string,
    });
  }
});

test('a missing endpoint is reported', async (t) => {
  const gateway = await load(t, 'server { return 204; }');
  expect(await events(gateway, 'tail')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'gw: no location of gw.conf serves events\n  name one with --address\n',
  });
  for (const address of [gateway.url, 'https://127.0.0.1/events', 'http://']) {
    expect((await gw(gateway.dir, ['events', 'tail', '--address', address])).stderr).toContain(
      `gw: invalid address "${address}"`,
    );
  }
  expect((await gw(gateway.dir, ['events', 'tail', '--address', `${gateway.url}/events`])).stderr).toBe(
    `gw: ${gateway.url}/events responds with 204\n`,
  );
});
