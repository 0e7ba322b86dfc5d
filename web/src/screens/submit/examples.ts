/** Something to begin with. */
export const YAML = `title: Landing page
on_failure: continue
budget: 5
tasks:
  - ref: plan
    type: plan
    title: Plan the page
    payload: {goal: more signups}
  - ref: copy
    type: write
    title: Write the copy
    after: [plan]
    max_cost: 0.5
  - ref: design
    type: design
    title: Design it
    after: [plan]
    timeout: 20m
  - ref: build
    type: code
    title: Build it
    after: [copy, design]
    requires: [python]
    retry: exponential:10s:5m
  - ref: report
    type: report
    title: Tell what was done
    after_ended: [build]
`;
