// One process for all that look at templates: the CDK takes longer to load than all of them to run.
import './alarms.ts';
import './functions.ts';
import './grants.ts';
import './http-api.ts';
import './localstack.ts';
import './operations.ts';
import './outputs.ts';
import './paused.ts';
import './queues.ts';
import './relay.ts';
import './rules-and-limits.ts';
import './storage.ts';
import './stream.ts';
import './subscriptions.ts';
import './waiter.ts';
