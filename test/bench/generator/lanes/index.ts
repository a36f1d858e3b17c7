import type { Load } from '../protocol.ts';
import { openHandshakeLanes, openHttpLanes } from './http.ts';
import { openStreamLanes } from './http2.ts';
import type { OpenLanes } from './lane.ts';
import { openMessageLanes } from './websocket.ts';

export type { Lane } from './lane.ts';

/** How the lanes of each kind of traffic are opened. */
export const LANES: Readonly<Record<Load['traffic'], OpenLanes>> = {
  http: (load, events) => openHttpLanes(load, events, false),
  https: (load, events) => openHttpLanes(load, events, true),
  http2: openStreamLanes,
  handshakes: openHandshakeLanes,
  websocket: openMessageLanes,
};
