import { describe, expect, test } from 'vitest';
import { VERSION } from '../../../src/version.ts';
import { startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { CONF, surface } from './surface.ts';

const file = wholeFile();

describe.each([1, 4])('with %i workers', (workers) => {
  const gw = surface(file, workers);

  test('health shows uptime, workers and the configuration', async () => {
    const { body } = await gw().expect('GET /runtime/health', { status: 200 });
    expect(JSON.parse(body)).toEqual({
      status: 'ok',
      service: 'control_api',
      uptime_s: expect.stringMatching(/^\d+$/) as string,
      workers: String(workers),
      config_generation: '1',
    });
  });

  test('system shows what is running and the time', async () => {
    const { body } = await gw().expect('GET /runtime/system', { status: 200 });
    const { timestamp, now_ms, time, pid, ...facts } = JSON.parse(body) as Record<string, string>;
    expect(facts).toEqual({
      status: 'ok',
      module: 'control_api',
      version: VERSION,
      node: process.versions.node,
    });
    expect(now_ms).toBe(timestamp);
    expect(Math.abs(Number(timestamp) - Date.now())).toBeLessThan(60_000);
    expect(time).toBe(new Date(Number(timestamp)).toISOString());
    expect(() => process.kill(Number(pid), 0)).not.toThrow();
  });
});

test('health follows reloads', async (t) => {
  const gw = await startGateway(t, CONF);
  expect(await gw.reload(CONF)).toBe('done');
  const { body } = await gw.fetch('/runtime/health');
  expect(JSON.parse(body)).toMatchObject({ config_generation: '2', workers: '1' });
});

test('health gives 503 while the gateway drains', async (t) => {
  const gw = await startGateway(t, CONF);
  const connection = await gw.connect();
  const ask = async (nth: number) => {
    connection.write('GET /runtime/health HTTP/1.1\r\nHost: h\r\n\r\n');
    return connection.until(new RegExp(`(HTTP/1\\.1 [^]*?"\\}[^]*?){${nth}}`));
  };
  await ask(1);
  gw.signal('SIGQUIT');
  await gw.waitForLog(/gracefully shutting down/);
  // Workers notice the stop a moment later; their last responses close the connections.
  let responses = '';
  for (let nth = 2; !responses.includes('HTTP/1.1 503'); nth++) responses = await ask(nth);
  expect(responses).toMatch(/HTTP\/1\.1 503 [^]*\{"status":"error","message":"draining"\}$/);
  await gw.ended();
});
