import type { Build, Deed, Fact, ModuleExplanation, Telling } from '../../contract/index.ts';
import { DEFAULT_RING_SIZE } from './config.ts';
import type { EndpointConfig, WorkerEventsConfig } from './config.ts';
import { refuse } from './answer.ts';
import { compileKeyCheck } from './publish-key.ts';
import { prefersStream } from './stream.ts';
import type { StreamResources } from './stream.ts';

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

/** Which of the endpoint's three parts would answer. */
export const explanation: ModuleExplanation<WorkerEventsConfig, StreamResources> = {
  tell: (config, _resources, build) => ({ content: tellEndpoint(config as EndpointConfig, build) }),
};

function tellEndpoint(config: EndpointConfig, build: Build): Telling {
  const { zone, channel, ringSize = DEFAULT_RING_SIZE, publishKey } = config;
  const mayPublish = publishKey ? compileKeyCheck(publishKey, build) : () => true;
  const facts: readonly Fact[] = [
    { label: 'zone', value: `${zone.name}, ${ringSize} events` },
    { label: 'channel', value: channel },
  ];
  return (x): Deed | undefined => {
    if (!METHODS.has(x.method)) {
      x.setHeader('Allow', 'GET, HEAD, POST');
      refuse(x, 405, 'method not allowed');
      return undefined;
    }
    if (x.method !== 'POST') {
      const streams = config.stream && prefersStream(x.header('accept'));
      return {
        does: streams ? 'streams events as they come' : 'shows the events of the ring',
        facts,
        unknown: 'the events',
      };
    }
    if (!mayPublish(x)) {
      refuse(x, 401, 'unauthorized: the publish key is missing or wrong');
      return undefined;
    }
    const key = publishKey ? 'the publish key is right' : 'no publish key is asked for';
    return { does: 'publishes the event in the body', facts: [...facts, { label: 'key', value: key }] };
  };
}
