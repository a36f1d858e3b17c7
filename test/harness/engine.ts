/** True if the tests run on the node engine (`GW_TEST_ENGINE=node`): the harness adds it to every configuration. */
export const ON_NODE_ENGINE = process.env['GW_TEST_ENGINE'] === 'node';
