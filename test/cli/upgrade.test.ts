import { expect, test } from 'vitest';
import { VERSION } from '../../src/version.ts';
import type { Gateway } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';
import { type Installation, installation, OTHER_VERSION } from '../master/installed.ts';
import { startSupervised } from '../master/processes.ts';
import { directoryWith, runIn, type Said } from './command.ts';

const NEXT = '0.1.0-next';
const CONF = 'shared_dict_zone zone=feature_flags:64k; server { location /runtime/ { control_api; } }';
const FAULT = expect.stringMatching(/^gw: \[emerg\] unknown directive "nonsense" in /) as string;

interface Started extends Pick<Installation, 'install'> {
  readonly gw: Gateway;
  /** Runs a command of the installation about the gateway. */
  readonly run: (...args: readonly string[]) => Promise<Said>;
}

async function started(t: Owner): Promise<Started> {
  const { program, install } = installation(t);
  const gw = await startSupervised(t, CONF, { program });
  const run: Started['run'] = (...args) =>
    runIn(gw.dir, [process.execPath, program, ...args, '-p', gw.dir, '-c', gw.conf]);
  return { install, gw, run };
}

const done = (stdout: string): Said => ({ code: 0, stdout, stderr: '' });
const failed = (stderr: string): Said => ({ code: 1, stdout: '', stderr });
const matching = (text: RegExp): string => expect.stringMatching(text) as string;

test('gw -s reload --wait tells how the reload went', async (t) => {
  const { gw, run } = await started(t);
  const reload = (): Promise<Said> => run('-s', 'reload', '--wait');
  expect(await reload()).toEqual(done('reload done, configuration 2\n'));
  // Only what runs finds that the address is not of this machine.
  gw.write(`${CONF} server { listen 192.0.2.1:1; }`);
  const refused = /^gw: \[error\] reload refused, .*bind\(\) to 192\.0\.2\.1:1 .*\n$/;
  expect(await reload()).toEqual(failed(matching(refused)));
  gw.write('nonsense;');
  expect(await reload()).toEqual(failed(FAULT));
});

test(
  'gw upgrade, -V and status tell which versions run, and how the upgrade went',
  { timeout: 120_000 },
  async (t) => {
    const { install, gw, run } = await started(t);
    const running = async (): Promise<string | undefined> =>
      /^running: .*$/m.exec((await run('-V')).stderr)?.[0];
    expect(await running()).toBeUndefined();
    gw.write('nonsense;');
    expect(await run('upgrade')).toEqual(failed(FAULT));
    gw.write(CONF);

    install(OTHER_VERSION);
    expect(await running()).toBe(`running: gw/${VERSION}`);
    const older = `its supervisor is gw/${VERSION} until the next start`;
    expect(await run('upgrade')).toEqual(done(`gw/${VERSION} was upgraded to gw/${NEXT}; ${older}\n`));
    expect(await running()).toBe(`running: gw/${NEXT}, ${older}`);
    const { stdout } = await run('status');
    expect(stdout).toMatch(new RegExp(`^gw ${NEXT} · supervisor ${VERSION} until the next start · node `));
    const { stdout: json } = await run('status', '--json');
    expect(JSON.parse(json)).toMatchObject({ version: NEXT, supervisor: VERSION });

    install(OTHER_VERSION, [/async function runMaster\(source.*\{\n/, '$& process.exit(3);']);
    const ended = /^gw: \[error\] upgrade failed, .* ended before it served .*\n$/;
    expect(await run('upgrade')).toEqual(failed(matching(ended)));
    // What runs is of the version of the command.
    expect(await run('upgrade', '--or-reload')).toEqual(done(matching(/^reload done, /)));
  },
);

test('-V tells nothing of what runs if the configuration has a fault or nothing runs', async (t) => {
  const { program } = installation(t);
  const dir = directoryWith(t, { 'good.conf': 'events { }', 'bad.conf': 'nonsense;' });
  for (const conf of ['good.conf', 'bad.conf', 'none.conf']) {
    const { code, stderr } = await runIn(dir, [process.execPath, program, '-V', '-p', dir, '-c', conf]);
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/running|nonsense|emerg/);
  }
});
