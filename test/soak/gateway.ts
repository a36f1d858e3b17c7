import { chownSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeExit, launch, type Launched } from '../harness/launch.ts';
import { SABOTAGED } from '../master/saboteur.ts';
import { configuration, type Sites } from './configuration.ts';

/** The built program: `npm run soak` builds it and runs this file, bundled, in the root of the repository. */
export const GW = resolve('dist/bin/gw.js');

const WAIT_MS = 30_000;

/** The gateway of a run: under its own supervisor, with a way to make a worker fail that is not part of the product. */
export class SoakedGateway {
  /** The version that the configuration file contains. */
  version = 1;
  readonly #sites: Sites;
  #launched: Launched | undefined;

  constructor(sites: Sites) {
    this.#sites = sites;
  }

  async start(): Promise<void> {
    const { dir } = this.#sites;
    if (!existsSync(GW))
      throw new Error(`"${GW}" is missing: run "npm run soak" in the root of the repository`);
    for (const [name, text] of Object.entries(SABOTAGED.files)) writeFileSync(join(dir, name), text);
    this.write(configuration(this.#sites, this.version));
    this.#launched = launch(process.execPath, [GW, '-p', dir, '-c', join(dir, 'gw.conf')], {
      cwd: dir,
      env: { ...process.env, ...SABOTAGED.env },
    });
    await this.waitForLog(/start worker processes/, 0);
    // A worker is sabotaged by a file, which this worker renames, and workers that root starts are not root.
    const { uid, gid } = statSync(join(dir, 'error.log'));
    chownSync(dir, uid, gid);
  }

  /** The process that was started: the supervisor. */
  get pid(): number {
    return this.#launched?.pid ?? 0;
  }

  /** The process that holds the workers. */
  get masterPid(): number {
    const started = [...this.errorLog().matchAll(/\[notice\] (\d+)#0: start worker processes/g)].at(-1);
    return Number(started?.[1]);
  }

  /** How the process ended, if it has ended. */
  get ended(): string | undefined {
    const exit = this.#launched?.exit();
    return exit && describeExit(exit);
  }

  write(text: string): void {
    writeFileSync(join(this.#sites.dir, 'gw.conf'), text);
  }

  /** Loads a text; resolves with what the gateway reports about it. */
  async reload(text: string): Promise<'done' | 'refused'> {
    const from = this.errorLog().length;
    this.write(text);
    process.kill(Number(readFileSync(join(this.#sites.dir, 'gw.pid'), 'utf8')), 'SIGHUP');
    const [, verdict] = await this.waitForLog(/reload (done|refused)/, from);
    return verdict as 'done' | 'refused';
  }

  errorLog(): string {
    return readFileSync(join(this.#sites.dir, 'error.log'), { encoding: 'utf8', flag: 'a+' });
  }

  output(): string {
    return this.#launched?.output() ?? '';
  }

  /** The match, as soon as the error log contains it behind `from` characters. */
  async waitForLog(pattern: RegExp, from: number): Promise<RegExpExecArray> {
    const deadlineMs = performance.now() + WAIT_MS;
    for (;;) {
      const found = pattern.exec(this.errorLog().slice(from));
      if (found) return found;
      if (this.ended !== undefined) throw new Error(`the gateway ended: ${this.ended}\n${this.output()}`);
      if (performance.now() > deadlineMs) throw new Error(`the error log did not get ${pattern}`);
      await sleep(10);
    }
  }

  async stop(): Promise<void> {
    await this.#launched?.stop();
  }
}
