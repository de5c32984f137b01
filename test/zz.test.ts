import { it } from 'vitest';
import { createFleetModel } from './support/fleet-model.ts';
it('x', { timeout: 3_600_000 }, async () => {
    const fleet = createFleetModel();
    fleet.start(0); fleet.start(1_000);
    const pair={client:'acme',service:'customer-insights'};
    fleet.world.stage('acme','AWSCURRENT',false);
    fleet.world.stage('acme','AWSPENDING',false);
    fleet.troubleStore({fault:'hanging',share:1,seed:0});
    const show=async()=>{ for (const h of fleet.living()) { void fleet.ask(h,{pair,minTtlSeconds:0,refuses:'nothing'}).then(a=>console.log(fleet.clock.now()%1e8,h.environment.number, a instanceof Error? a.message: a.cache+' '+a.token.credentialVersion, h.environment.traces.at(-1)?.tokenRequests)); } await fleet.settle(); };
    await show();
    await fleet.clock.advance(300_000);
    await show();
    await fleet.clock.advance(23_000);
    fleet.verify();
});
