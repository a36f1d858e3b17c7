import type { HonestRequest } from '../actor.ts';
import { ask } from '../client.ts';
import { PUBLISH_KEY } from '../configuration.ts';
import { judge } from '../judge.ts';

const headers = { 'content-type': 'application/json', 'x-publish-key': PUBLISH_KEY };

interface Published {
  readonly generation?: number;
}

export const eventRequests: readonly HonestRequest[] = [
  async function publishesAndReads(turn) {
    const { port } = turn.stage.sites;
    const payload = turn.random.word(12);
    const init = { method: 'POST', headers, body: JSON.stringify({ type: 'soak', payload }) };
    const got = await ask(port, '/events', init);
    if (!judge(turn, 'POST /events', { got, wanted: { status: 200 } })) return;
    const { generation = 0 } = JSON.parse(got.body) as Published;
    const seen = await ask(port, `/events?since=${generation - 1}&limit=1`);
    // The ring ends with its process.
    const isNew = turn.stage.disturbances.excuse(['process'], got.startedMs);
    const wanted = { status: 200, ...(!isNew && { body: new RegExp(payload) }) };
    judge(turn, 'GET /events behind an event', { got: seen, wanted });
  },
  async function hasNoKey(turn) {
    const init = {
      method: 'POST',
      headers: { ...headers, 'x-publish-key': turn.random.word(8) },
      body: '{"type":"x"}',
    };
    const got = await ask(turn.stage.sites.port, '/events', init);
    judge(turn, 'POST /events with a wrong key', { got, wanted: { status: 401 } });
  },
];
