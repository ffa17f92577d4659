-- SPDX-License-Identifier: Apache-2.0
-- Refuses jobs of Curtail while /etc/curtail/holds.d on the controller's machine has a file. Copy
-- this file to the folder of slurm.conf, and set JobSubmitPlugins=lua there. If the cluster has a
-- job_submit.lua already, add these functions to it. See docs/operators.md.

local folder = "/etc/curtail/holds.d"

-- Prints the path of one file. An error of find counts as a file: what cannot be read holds. Names
-- that begin with a dot or end with a tilde do not count. A missing folder holds nothing.
local list_one = "test -e " .. folder .. " || test -L " .. folder ..
    " || exit 0; find " .. folder ..
    "/ -mindepth 1 -maxdepth 1 ! -name '.*' ! -name '*~' -print -quit 2>&1"

-- The poller names a job `curtail.RUN.SITE.ID`. A job of slurm/site_train.sh that a person submits
-- is `curtail-train`.
local function is_of_curtail(name)
    return name ~= nil and (name:sub(1, 8) == "curtail." or name == "curtail-train")
end

-- Returns the path of a hold, or nil if there is none.
local function find_hold()
    local output = io.popen(list_one)
    if output == nil then return folder end
    local hold = output:read("*l")
    output:close()
    return hold
end

local function refuse_if_held(job_desc, submit_uid)
    -- Other jobs must not cost a process: slurmctld waits for this function.
    if not is_of_curtail(job_desc.name) then return slurm.SUCCESS end
    local hold = find_hold()
    if hold == nil then return slurm.SUCCESS end
    slurm.log_info("curtail: refused a job of user %d because of %s", submit_uid, hold)
    slurm.log_user("an operator holds the jobs of Curtail on this cluster (%s)", hold)
    return slurm.ERROR
end

function slurm_job_submit(job_desc, part_list, submit_uid)
    return refuse_if_held(job_desc, submit_uid)
end

-- Slurm requires this function. It refuses nothing.
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
