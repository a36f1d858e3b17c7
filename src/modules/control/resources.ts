import type { WorkerScope } from '../../contract/index.ts';
import { openDictionary } from '../../zone/index.ts';
import type { Dictionary } from '../../zone/index.ts';
import type { ControlConfig } from './config.ts';
import { openConsole } from './console/resources.ts';
import type { ConsoleResources } from './console/resources.ts';
import { Routes } from './routes.ts';

/** What the control surface uses in one worker. */
export interface ControlResources {
  readonly dictionaries: ReadonlyMap<string, Dictionary>;
  /** What the whole configuration binds. */
  readonly routes: Routes;
  readonly worker: WorkerScope;
  readonly console: ConsoleResources | undefined;
}

/** Opens the dictionaries of the configuration. */
export function openResources(
  { dictionaries = [], console }: ControlConfig,
  worker: WorkerScope,
): ControlResources {
  return {
    dictionaries: new Map(
      dictionaries.map(({ name, timeoutMs, evict }) => [
        name,
        openDictionary(worker.zone(name), worker.workerId, { timeoutMs, evict }),
      ]),
    ),
    routes: worker.share(
      `control routes ${worker.generation}`,
      () => new Routes(),
      () => undefined,
    ),
    worker,
    console: console ? openConsole(worker) : undefined,
  };
}
