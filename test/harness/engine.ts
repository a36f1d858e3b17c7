/** True if the tests run on the node engine (`GW_TEST_ENGINE=node`): the harness adds it to every configuration. */
export const ON_NODE_ENGINE = process.env['GW_TEST_ENGINE'] === 'node';

const [MAJOR = 0, MINOR = 0] = process.versions.node.split('.').map(Number);

/** True if every worker listens; on the node engine, from Node 22.12 on. */
export const WORKERS_SHARE_PORTS = !ON_NODE_ENGINE || MAJOR > 22 || (MAJOR === 22 && MINOR >= 12);
