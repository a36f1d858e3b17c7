import type { Actor } from '../actor.ts';
import { bodies } from './bodies.ts';
import { configurations } from './configurations.ts';
import { health } from './health.ts';
import { httpMutants } from './http-mutants.ts';
import { proxyHeads } from './proxy-heads.ts';
import { requests } from './requests.ts';
import { resumptions } from './resumptions.ts';
import { slowClients } from './slow-clients.ts';
import { storeReplies } from './store-replies.ts';
import { streams } from './streams.ts';

/** All actors of a run. */
export const ACTORS: readonly Actor[] = [
  health,
  requests,
  httpMutants,
  bodies,
  storeReplies,
  proxyHeads,
  configurations,
  resumptions,
  slowClients,
  streams,
];
